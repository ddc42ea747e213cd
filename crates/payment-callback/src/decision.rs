//! What one delivery alone asks for, given the payment it speaks of.
//!
//! A signature proves who sent a delivery. It does not prove that the amount is the one we asked for, that the currency
//! is, or that the payment is ours: that is compared here, exactly. Whether the same money was told of before is not
//! asked here; that needs the books.

use money::Amount;

use crate::event::{Event, Refund, RefundOutcome, ReportedAmount};

/// The payment that an event speaks of, as far as judging needs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnownPayment<'a> {
    /// Our number of it.
    pub payment_no: &'a str,
    /// What is to be paid.
    pub amount: Amount,
}

/// What is to be done about one delivery, seen alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Decision {
    /// Book the payment: payment, amount and currency are as expected.
    ApplyPayment,
    /// Book the refund.
    ApplyRefund,
    /// Note that an attempt failed.
    MarkFailed,
    /// The payment will not be paid any more, at least not under the id that was told.
    MarkClosed,
    /// Keep the delivery; nothing else follows.
    RecordOnly,
    /// A refund was called off; the money is still here.
    RefundFailed,
    /// A refund is stuck at the provider; raise an alert.
    RefundNeedsAttention,
    /// Money came in another amount than asked for; keep it apart, raise an alert.
    HoldAmountMismatch,
    /// Money came in another currency than asked for; keep it apart, raise an alert.
    HoldCurrencyMismatch,
    /// The amount cannot be read exactly; keep the delivery apart, raise an alert.
    HoldMalformedAmount,
    /// No payment has this number (yet); keep the delivery apart.
    HoldUnknownOrder,
    /// It is for somebody else.
    IgnoreOtherAccount,
    /// It is of a kind that is not handled.
    IgnoreEventType,
    /// Ask the provider for the object that the delivery names.
    FetchObject,
}

impl Decision {
    /// What passes a delivery over, without looking at what it says of a payment. Whether it is passed over depends on the
    /// endpoint's configuration and on what its adapter can read, so another day the same bytes may mean more.
    pub const PASSING_OVER: [Self; 3] = [Self::IgnoreOtherAccount, Self::IgnoreEventType, Self::FetchObject];

    /// Whether it passes the delivery over.
    pub fn passes_over(self) -> bool {
        Self::PASSING_OVER.contains(&self)
    }

    /// The word for it, in what `callback check` prints and in the test vectors.
    pub fn word(self) -> &'static str {
        match self {
            Self::ApplyPayment => "apply_payment",
            Self::ApplyRefund => "apply_refund",
            Self::MarkFailed => "mark_failed",
            Self::MarkClosed => "mark_closed",
            Self::RecordOnly => "record_only",
            Self::RefundFailed => "refund_failed",
            Self::RefundNeedsAttention => "refund_needs_attention",
            Self::HoldAmountMismatch => "hold_amount_mismatch",
            Self::HoldCurrencyMismatch => "hold_currency_mismatch",
            Self::HoldMalformedAmount => "hold_malformed_amount",
            Self::HoldUnknownOrder => "hold_unknown_order",
            Self::IgnoreOtherAccount => "ignore_other_account",
            Self::IgnoreEventType => "ignore_event_type",
            Self::FetchObject => "fetch_object",
        }
    }
}

/// Judges one event alone. `known` is the payment with the number that the event names, if there is one; one with
/// another number counts as none.
///
/// The order of questions: is it for us, is it of a kind we handle, is the payment ours, is the currency right, can the
/// amount be read, is it right.
pub fn judge(event: &Event, known: Option<&KnownPayment<'_>>) -> Decision {
    let known = known.filter(|known| event.payment_no() == Some(known.payment_no));
    match (event, known) {
        (Event::OtherAccount { .. }, _) => Decision::IgnoreOtherAccount,
        (Event::UnknownType, _) => Decision::IgnoreEventType,
        (Event::ToBeFetched { .. }, _) => Decision::FetchObject,
        (Event::Disputed { .. } | Event::Noted { .. }, _) => Decision::RecordOnly,
        (_, None) => Decision::HoldUnknownOrder,
        (Event::PaymentFailed { .. }, Some(_)) => Decision::MarkFailed,
        (Event::PaymentClosed { .. }, Some(_)) => Decision::MarkClosed,
        (Event::PaymentSucceeded { amount, .. }, Some(known)) => judge_payment(amount, known.amount),
        (Event::Refunded(refund), Some(known)) => judge_refund(refund, known.amount),
    }
}

fn judge_payment(reported: &ReportedAmount, expected: Amount) -> Decision {
    match compared(reported, expected) {
        Err(hold) => hold,
        Ok(amount) if amount == expected => Decision::ApplyPayment,
        Ok(_) => Decision::HoldAmountMismatch,
    }
}

fn judge_refund(refund: &Refund, expected: Amount) -> Decision {
    match refund.outcome {
        RefundOutcome::Closed => return Decision::RefundFailed,
        RefundOutcome::Abnormal => return Decision::RefundNeedsAttention,
        RefundOutcome::Succeeded => {}
    }
    if let Some(paid) = &refund.paid {
        match compared(paid, expected) {
            Err(hold) => return hold,
            Ok(paid) if paid != expected => return Decision::HoldAmountMismatch,
            Ok(_) => {}
        }
    }
    match compared(refund.sum.amount(), expected) {
        Err(hold) => hold,
        Ok(sum) if sum.is_zero() => Decision::RecordOnly,
        // More than was paid cannot be given back.
        Ok(sum) if sum.minor_units() > expected.minor_units() => Decision::HoldAmountMismatch,
        Ok(_) => Decision::ApplyRefund,
    }
}

/// The reported amount, if it is one in the currency that was expected.
fn compared(reported: &ReportedAmount, expected: Amount) -> Result<Amount, Decision> {
    match reported {
        ReportedAmount::UnknownCurrency { .. } => Err(Decision::HoldCurrencyMismatch),
        other if other.currency().is_some_and(|currency| currency != expected.currency()) => {
            Err(Decision::HoldCurrencyMismatch)
        }
        ReportedAmount::Malformed { .. } => Err(Decision::HoldMalformedAmount),
        ReportedAmount::Exact(amount) => Ok(*amount),
    }
}

#[cfg(test)]
mod tests {
    use money::Currency;

    use super::*;

    fn amount(text: &str, currency: &str) -> Amount {
        Amount::parse(text, Currency::from_code(currency).unwrap()).unwrap()
    }

    fn exact(text: &str, currency: &str) -> ReportedAmount {
        ReportedAmount::Exact(amount(text, currency))
    }

    fn judged(reported: ReportedAmount) -> Decision {
        let event = Event::PaymentSucceeded {
            payment_no: Some("P-00001".to_owned()),
            payment_id: "pi_1".to_owned(),
            amount: reported,
        };
        judge(&event, Some(&KnownPayment { payment_no: "P-00001", amount: amount("100.00", "CNY") }))
    }

    fn judged_refund(sum: RefundSum, outcome: RefundOutcome, paid: Option<ReportedAmount>) -> Decision {
        let refund = Refund {
            payment_no: Some("P-00001".to_owned()),
            payment_id: "pi_1".to_owned(),
            refund_id: None,
            refund_no: None,
            sum,
            outcome,
            paid,
        };
        judge(
            &Event::Refunded(refund),
            Some(&KnownPayment { payment_no: "P-00001", amount: amount("100.00", "CNY") }),
        )
    }

    use crate::event::RefundSum;

    #[test]
    fn only_the_exact_amount_in_the_same_currency_is_applied() {
        assert_eq!(judged(exact("100", "CNY")), Decision::ApplyPayment);
        for other in ["99.99", "100.01", "0", "0.01", "10000"] {
            assert_eq!(judged(exact(other, "CNY")), Decision::HoldAmountMismatch, "{other}");
        }
        assert_eq!(judged(exact("100", "USD")), Decision::HoldCurrencyMismatch);
        assert_eq!(judged(exact("100", "JPY")), Decision::HoldCurrencyMismatch);
    }

    #[test]
    fn an_amount_that_cannot_be_read_is_held() {
        let malformed = |currency| ReportedAmount::Malformed { currency, written: "8.88e1".to_owned() };
        let cny = Currency::from_code("CNY").ok();
        assert_eq!(judged(malformed(cny)), Decision::HoldMalformedAmount);
        assert_eq!(judged(malformed(None)), Decision::HoldMalformedAmount);
        assert_eq!(judged(malformed(Currency::from_code("USD").ok())), Decision::HoldCurrencyMismatch);
        let unknown = ReportedAmount::UnknownCurrency { code: "XYZ".to_owned(), written: "100".to_owned() };
        assert_eq!(judged(unknown), Decision::HoldCurrencyMismatch);
    }

    #[test]
    fn a_payment_with_another_number_is_unknown_whatever_it_says() {
        let known = KnownPayment { payment_no: "P-00001", amount: amount("100.00", "CNY") };
        for payment_no in [None, Some("P-00002".to_owned())] {
            let events = [
                Event::PaymentSucceeded {
                    payment_no: payment_no.clone(),
                    payment_id: "pi_1".to_owned(),
                    amount: exact("100", "CNY"),
                },
                Event::PaymentFailed { payment_no: payment_no.clone(), payment_id: None },
                Event::PaymentClosed { payment_no: payment_no.clone(), payment_id: None, has_others: false },
            ];
            for event in events {
                assert_eq!(judge(&event, Some(&known)), Decision::HoldUnknownOrder);
                assert_eq!(judge(&event, None), Decision::HoldUnknownOrder);
            }
        }
    }

    #[test]
    fn a_refund_is_applied_up_to_what_was_paid() {
        let one = |text| RefundSum::One(exact(text, "CNY"));
        let succeeded = RefundOutcome::Succeeded;
        assert_eq!(judged_refund(one("100"), succeeded, None), Decision::ApplyRefund);
        assert_eq!(judged_refund(one("0.01"), succeeded, None), Decision::ApplyRefund);
        assert_eq!(judged_refund(one("100.01"), succeeded, None), Decision::HoldAmountMismatch);
        assert_eq!(judged_refund(one("0"), succeeded, None), Decision::RecordOnly);
        assert_eq!(
            judged_refund(one("1"), succeeded, Some(exact("99", "CNY"))),
            Decision::HoldAmountMismatch
        );
        assert_eq!(judged_refund(one("1"), RefundOutcome::Closed, None), Decision::RefundFailed);
        assert_eq!(judged_refund(one("1"), RefundOutcome::Abnormal, None), Decision::RefundNeedsAttention);
    }

    #[test]
    fn what_is_not_for_us_is_ignored_before_anything_else_is_asked() {
        assert_eq!(judge(&Event::OtherAccount { field: "mchid" }, None), Decision::IgnoreOtherAccount);
        assert_eq!(judge(&Event::UnknownType, None), Decision::IgnoreEventType);
        assert_eq!(judge(&Event::Noted { payment_no: None }, None), Decision::RecordOnly);
    }
}
