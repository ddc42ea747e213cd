//! Asking a provider, instead of waiting to be told: what became of a payment, and giving money back.
//!
//! A provider does not promise that its callbacks ever arrive, so payments that stay pending are asked about; and a
//! refund is asked for. Both halves of asking are pure: one function makes the request, another reads the answer.
//! Whoever does I/O sends the one and brings the other.
//!
//! **Time-outs.** A refund whose answer was lost may have happened. It is asked about, or asked for again, under the *same*
//! [`RefundAsked::refund_no`], which is the provider's key against a second one. A new number is a new refund.

use std::fmt;

use chrono::{DateTime, Utc};
use money::Amount;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::event::{Event, Notice, Refund, RefundOutcome, RefundSum, ReportedAmount};
use crate::provider::{ConfigFault, Delivery, Rejection};
use crate::provider_id::shown_word;

/// What can be asked of a provider.
pub trait ProviderApi: fmt::Debug + Send + Sync {
    /// Asks what became of a payment.
    fn query(&self, payment: &PaymentAsked<'_>, sending: Sending<'_>) -> ApiRequest;

    /// What the provider says of the payment: one notice for each thing that happened to it, none where the provider
    /// knows of no such payment, which is how one looks that the payer never began.
    ///
    /// A notice's delivery key is made from what it says, so the same answer tomorrow is the same delivery.
    ///
    /// # Errors
    ///
    /// An [`ApiFault`] where nothing was learnt.
    fn read_query(
        &self,
        payment: &PaymentAsked<'_>,
        response: &ApiResponse<'_>,
        now: DateTime<Utc>,
    ) -> Result<Vec<Notice>, ApiFault>;

    /// Asks for a refund, or again for the same one.
    ///
    /// # Errors
    ///
    /// [`NotAskable`] where the provider cannot be asked for this amount.
    fn refund(&self, refund: &RefundAsked<'_>, sending: Sending<'_>) -> Result<ApiRequest, NotAskable>;

    /// What the provider says to having been asked for a refund.
    ///
    /// # Errors
    ///
    /// An [`ApiFault`]; unless it is [`ApiFault::Refused`], the refund may have happened.
    fn read_refund(
        &self,
        refund: &RefundAsked<'_>,
        response: &ApiResponse<'_>,
        now: DateTime<Utc>,
    ) -> Result<RefundAnswer, ApiFault>;

    /// Asks what became of a refund.
    fn query_refund(&self, refund: &RefundAsked<'_>, sending: Sending<'_>) -> ApiRequest;

    /// What the provider says became of the refund.
    ///
    /// # Errors
    ///
    /// An [`ApiFault`] where nothing was learnt.
    fn read_query_refund(
        &self,
        refund: &RefundAsked<'_>,
        response: &ApiResponse<'_>,
        now: DateTime<Utc>,
    ) -> Result<RefundAnswer, ApiFault>;
}

/// A payment that is asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PaymentAsked<'a> {
    /// Our number of it.
    pub payment_no: &'a str,
    /// The money's identity at the provider, if it is known already.
    pub payment_id: Option<&'a str>,
}

/// A refund that is asked for, or about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefundAsked<'a> {
    /// Our number of the payment.
    pub payment_no: &'a str,
    /// The identity, at the provider, of the money that was paid.
    pub payment_id: &'a str,
    /// Our number of the refund: one number, one refund, however often it is asked for.
    pub refund_no: &'a str,
    /// The provider's id of the refund, if it is known already.
    pub refund_id: Option<&'a str>,
    /// How much is to go back.
    pub amount: Amount,
    /// How much was paid in all, of which `amount` is a part.
    pub paid: Amount,
}

/// What is new in each request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sending<'a> {
    /// The time at which it is sent.
    pub at: DateTime<Utc>,
    /// Letters and digits that were never used before: 16 to 32 of them.
    pub nonce: &'a str,
}

/// A request to a provider.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiRequest {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The whole URL. A redirect must not be followed: the request is signed for this one, or carries a key.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(&'static str, String)>,
    /// The body; empty for `GET`.
    pub body: Vec<u8>,
}

/// Headers carry keys, and are not printed.
impl fmt::Debug for ApiRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiRequest")
            .field("method", &self.method)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// A provider's answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ApiResponse<'a> {
    /// The HTTP status.
    pub status: u16,
    /// Its headers and the exact bytes of its body.
    pub content: Delivery<'a>,
}

/// What became of a refund, as its provider says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefundAnswer {
    /// How far it is.
    pub state: RefundState,
    /// The provider's id of it, where refunds have one and this one is there.
    pub refund_id: Option<String>,
    /// How much went back, or is to, where the provider says it of this one refund.
    pub amount: Option<ReportedAmount>,
    /// How much has gone back of the payment in all, this refund included, where the answer says so.
    pub total: Option<ReportedAmount>,
}

/// How far a refund is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RefundState {
    /// The provider knows of no such refund (yet): ask for it again, under the same number.
    Unknown,
    /// Under way: ask what became of it.
    Processing,
    /// The payer has the money.
    Succeeded,
    /// Called off: the money was not given back.
    Closed,
    /// Stuck: a person must act at the provider.
    Abnormal,
}

impl RefundAnswer {
    /// There is no such refund.
    pub(crate) fn unknown() -> RefundAnswer {
        RefundAnswer { state: RefundState::Unknown, refund_id: None, amount: None, total: None }
    }
}

impl RefundAnswer {
    /// The notice of it, as if the provider had called; none while nothing is over. `tells_totals` is the provider's
    /// [`ProviderKind::tells_totals`](crate::ProviderKind::tells_totals).
    pub fn notice(&self, asked: &RefundAsked<'_>, tells_totals: bool) -> Option<Notice> {
        let (outcome, said) = match self.state {
            RefundState::Unknown | RefundState::Processing => return None,
            RefundState::Succeeded => (RefundOutcome::Succeeded, "refund_succeeded"),
            RefundState::Closed => (RefundOutcome::Closed, "refund_closed"),
            RefundState::Abnormal => (RefundOutcome::Abnormal, "refund_abnormal"),
        };
        let amount = self.amount.clone().unwrap_or(ReportedAmount::Exact(asked.amount));
        let refund = Refund {
            payment_no: Some(asked.payment_no.to_owned()).filter(|number| !number.is_empty()),
            payment_id: asked.payment_id.to_owned(),
            refund_id: self.refund_id.clone().or(asked.refund_id.map(str::to_owned)),
            refund_no: Some(asked.refund_no.to_owned()),
            sum: match tells_totals {
                true => RefundSum::OneOfTotal { one: amount, total: self.total.clone() },
                false => RefundSum::One(amount),
            },
            outcome,
            paid: None,
        };
        Some(learnt(said, Event::Refunded(refund), ""))
    }
}

/// The provider was asked, and nothing was learnt.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ApiFault {
    /// The provider said no, and will say so again. It did not do what it was asked for.
    #[error("the provider refuses: {code}")]
    Refused {
        /// The provider's word for why: at most 64 visible ASCII characters.
        code: String,
    },
    /// The provider does not take our key, or not for this: an operator must act.
    #[error("the provider does not accept our key: {code}")]
    Unauthorised {
        /// The provider's word for why: at most 64 visible ASCII characters.
        code: String,
    },
    /// The provider is busy or out of order: ask again later.
    #[error("the provider is not available: status {status}")]
    Unavailable {
        /// The status that it answered with.
        status: u16,
    },
    /// The answer is not signed by the provider: it is not believed, whatever it says. Ask again.
    #[error("the answer is not believed: {0}")]
    Unverified(Rejection),
    /// The answer is not what the provider's documents describe.
    #[error("the answer cannot be read: {0}")]
    Unreadable(&'static str),
}

impl ApiFault {
    /// A signed answer, or one over a trusted connection, that says nothing we can use.
    pub(crate) fn unreadable(rejection: Rejection) -> ApiFault {
        ApiFault::Unreadable(rejection.detail)
    }

    pub(crate) fn refused(code: Option<&str>) -> ApiFault {
        ApiFault::Refused { code: shown_word(code) }
    }

    pub(crate) fn unauthorised(code: Option<&str>) -> ApiFault {
        ApiFault::Unauthorised { code: shown_word(code) }
    }

    /// Whether asking again, some time, may bring another answer without anybody doing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::Unverified(_) => true,
            Self::Refused { .. } | Self::Unauthorised { .. } | Self::Unreadable(_) => false,
        }
    }
}

/// The provider cannot be asked for this amount: it is in a currency that the provider counts in an unknown way, or finer
/// than it counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the provider cannot be asked for this amount")]
pub struct NotAskable;

/// The notice of what was learnt by asking.
pub(crate) fn learnt(said: &str, event: Event, key_id: &str) -> Notice {
    let mut notice = Notice {
        delivery_key: String::new(),
        event_type: shown_word(Some(&format!("query.{said}"))),
        event,
        key_id: key_id.to_owned(),
        subject: None,
    };
    let digest = Sha256::digest(notice.meaning());
    let hex: String = digest.iter().take(20).map(|byte| format!("{byte:02x}")).collect();
    notice.delivery_key = format!("query-{hex}");
    notice
}

/// Where a provider is asked. Keys travel there, so it is either far away and encrypted, or on this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BaseUrl(String);

impl BaseUrl {
    pub(crate) fn new(configured: Option<&str>, default: &str) -> Result<BaseUrl, ConfigFault> {
        let url = configured.unwrap_or(default).trim_end_matches('/');
        let host = |scheme: &str| url.strip_prefix(scheme).filter(|rest| !rest.is_empty());
        let is_here = host("http://").is_some_and(|rest| {
            let authority = rest.split('/').next().unwrap_or_default();
            let name = authority.rsplit_once(':').map_or(authority, |(name, _)| name);
            ["127.0.0.1", "localhost", "[::1]"].contains(&name)
        });
        let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic()) && !url.contains(['@', '?', '#']);
        if !is_plain || (host("https://").is_none() && !is_here) {
            return Err(ConfigFault(
                "api.base_url is no https:// URL: keys would travel for all to read (http:// is for 127.0.0.1)".to_owned(),
            ));
        }
        Ok(BaseUrl(url.to_owned()))
    }

    /// The URL of `path`, which begins with a slash.
    pub(crate) fn join(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_travel_encrypted_or_not_at_all() {
        for url in [
            "https://api.example.test",
            "https://api.example.test/base/",
            "http://127.0.0.1:8090",
            "http://[::1]:1/x",
            "http://localhost",
        ] {
            assert!(BaseUrl::new(Some(url), "").is_ok(), "{url}");
        }
        for url in [
            "http://api.example.test",
            "https://",
            "ftp://x",
            "",
            "http://127.0.0.1.example.test",
            "https://a@b",
            "http://127.0.0.1@evil.test",
            "https://a?b",
            "https://a b",
        ] {
            assert!(BaseUrl::new(Some(url), "").is_err(), "{url}");
        }
    }

    #[test]
    fn a_path_follows_that_of_the_base() {
        let url = BaseUrl::new(Some("http://localhost:1/standard/"), "").unwrap();
        assert_eq!(url.join("/payments"), "http://localhost:1/standard/payments");
    }

    #[test]
    fn the_same_answer_is_the_same_delivery() {
        let event = |no: &str| Event::Noted { payment_no: Some(no.to_owned()) };
        assert_eq!(learnt("x", event("P-1"), "a").delivery_key, learnt("x", event("P-1"), "b").delivery_key);
        assert_ne!(learnt("x", event("P-1"), "a").delivery_key, learnt("x", event("P-2"), "a").delivery_key);
    }

    #[test]
    fn a_request_is_printed_without_its_headers() {
        let request = ApiRequest {
            method: "GET",
            url: "https://api.example.test/".to_owned(),
            headers: vec![("Authorization", "Bearer hush".to_owned())],
            body: b"hush".to_vec(),
        };
        assert!(!format!("{request:?}").contains("hush"));
    }
}
