//! A request that would have an effect, from its first header to its answer. Every `POST` comes this way.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use client::ClientId;
use client::store::KeyHolder;
use desk::{Answered, Command};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use idempotency::fingerprint::Meaning;
use idempotency::key::KeyError;
use idempotency::{Answer, Key, Name, prefer};
use serde::Deserialize;
use tower::{ServiceBuilder, ServiceExt, service_fn};
use uuid::Uuid;

use crate::access_log::Facts;
use crate::admission::client_of;
use crate::app::AppState;
use crate::body::{self, RequestBody, receive};
use crate::issued_keys::{Standing, admit_key};
use crate::look_up::look_up;
use crate::metrics::IssuedKey;
use crate::path::{self, Named};
use crate::problem::{self, Problem, Slug};
use crate::repeats::{self, Effect, Told, Wanted};
use crate::telemetry::traces;

/// Says that an answer is that of an earlier request under the same key.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Says how long the answer would have waited for the first (RFC 7240).
pub const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// A request that has passed every check that needs no books.
#[derive(Debug)]
pub struct Submission<N, B> {
    /// What its path names.
    pub path: N,
    /// What its body says.
    pub body: B,
    /// Who asks, and how.
    pub asker: Asker,
}

/// Who asks, under which key, and how long it would wait.
#[derive(Debug)]
pub struct Asker {
    client: Arc<KeyHolder>,
    key: Key,
    wait: Option<Duration>,
    facts: Arc<Facts>,
}

impl<N: Named, B: RequestBody> Submission<N, B> {
    /// Reads a request whose route and method are known. When several things are wrong with it, the first line that
    /// finds one answers: this order is a promise of the API.
    ///
    /// # Errors
    ///
    /// In order: 404 for a path that can name nothing, 413, 415, 400 for the key, 400 for the JSON, 422 for the schema. Before
    /// these the layers in front have refused what is 401, 429 or 403. None of them is stored; the key stays free.
    pub async fn read(state: &AppState, request: Request) -> Result<Self, Problem> {
        Self::read_named_by(state, request, key_of).await
    }

    /// Reads a request that needs no key, since to do it twice is to do it once. The server makes a name for it.
    ///
    /// # Errors
    ///
    /// As [`Submission::read`], but for the key.
    pub async fn read_without_key(state: &AppState, request: Request) -> Result<Self, Problem> {
        Self::read_named_by(state, request, |_| Ok(new_key())).await
    }

    async fn read_named_by(
        state: &AppState,
        request: Request,
        key_of: fn(&HeaderMap) -> Result<Key, Problem>,
    ) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let facts = Facts::of(&parts.extensions);

        let admitted = async { Ok((client_of(&parts.extensions)?, path::named(&mut parts).await?)) };
        let (client, path) = match admitted.await {
            Ok(admitted) => admitted,
            Err(problem) => {
                receive::discard(body).await;
                return Err(problem);
            }
        };
        let bytes = facts.reading_body(receive::receive(body, state.settings.body_bytes_max)).await?;
        if !(bytes.is_empty() && B::OPTIONAL) {
            receive::expect_json(&parts.headers)?;
        }
        let key = key_of(&parts.headers).inspect_err(|problem| state.metrics.key_refused(problem.slug))?;
        facts.note_key(&key);
        let body = body::parse(&bytes)?;

        let wait = prefer::wait(parts.headers.get_all("prefer").iter().map(HeaderValue::as_bytes));
        Ok(Self { path, body, asker: Asker { client, key, wait, facts } })
    }
}

#[expect(clippy::disallowed_methods, reason = "this is an edge where ids are made")]
fn new_key() -> Key {
    Key::of_service("set", &[Uuid::now_v7().as_bytes()])
}

fn key_of(headers: &HeaderMap) -> Result<Key, Problem> {
    let fields = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    Key::from_headers(fields).map_err(|error| {
        let slug = match error {
            KeyError::Missing => Slug::IdempotencyKeyMissing,
            KeyError::Empty
            | KeyError::TooLong { .. }
            | KeyError::ForbiddenCharacter { .. }
            | KeyError::NeedsQuotes { .. }
            | KeyError::BrokenQuoting { .. }
            | KeyError::Repeated
            | KeyError::Conflicting => Slug::IdempotencyKeyMalformed,
        };
        Problem::new(slug, error.to_string())
    })
}

impl Asker {
    /// Who asks. It sees only what is its own.
    pub fn client_id(&self) -> ClientId {
        self.client.client_id
    }

    /// The id of the API key that it asks with.
    pub fn api_key_id(&self) -> &str {
        &self.client.key_id
    }

    /// Asks the desk for an effect, and answers what it answers. `meaning` must say all that `command` does.
    ///
    /// # Errors
    ///
    /// A key that the client may not use, or what the desk could not do, as a problem that is not stored. A business
    /// refusal is an answer, and no error.
    pub async fn submit(
        self,
        state: &AppState,
        operation: &'static str,
        meaning: Meaning,
        command: Command,
    ) -> Result<Response, Problem> {
        Ok(self.ask(state, operation, meaning, Wanted::Command(command)).await?.1)
    }

    /// The same of a command that takes a look into the books to make. `meaning` must not depend on what is found there:
    /// a repeat whose answer is remembered gets it without that look, and so without the database.
    ///
    /// # Errors
    ///
    /// As [`Asker::submit`], and those of `command`. Another request under a used key is told what the look-up finds wrong
    /// with it, as it would be under a free one, and only then that the key is used.
    pub async fn submit_looked_up(
        self,
        state: &AppState,
        operation: &'static str,
        meaning: Meaning,
        command: impl Future<Output = Result<Command, Problem>> + Send + 'static,
    ) -> Result<Response, Problem> {
        Ok(self.ask(state, operation, meaning, Wanted::LookedUp(Box::pin(command))).await?.1)
    }

    /// Answers a request that this server, as it is configured now, could not run: as before, if its key was used before.
    ///
    /// # Errors
    ///
    /// `problem`, if the key is free; that the key is another request's, or still in use; `unavailable`, if the database does
    /// not say.
    pub async fn refuse_unless_answered(
        self,
        state: &AppState,
        operation: &'static str,
        meaning: Meaning,
        problem: Problem,
    ) -> Result<Response, Problem> {
        Ok(self.ask(state, operation, meaning, Wanted::Undoable(problem)).await?.1)
    }

    /// As [`Asker::submit`], and besides the response the stored answer's body, if there is one.
    ///
    /// # Errors
    ///
    /// As [`Asker::submit`].
    pub async fn submit_and_read(
        self,
        state: &AppState,
        operation: &'static str,
        meaning: Meaning,
        command: Command,
    ) -> Result<(Option<Bytes>, Response), Problem> {
        self.ask(state, operation, meaning, Wanted::Command(command)).await
    }

    async fn ask(
        self,
        state: &AppState,
        operation: &'static str,
        meaning: Meaning,
        wanted: Wanted,
    ) -> Result<(Option<Bytes>, Response), Problem> {
        let wait = self.wait;
        let effect = Effect {
            name: Name { client_id: self.client.client_id, key: self.key },
            fingerprint: meaning.fingerprint(),
            operation,
            wanted,
            wait,
            facts: self.facts,
        };
        let state = state.clone();
        let filter = repeats::filter(&state);
        let desk = service_fn(move |effect: Effect| ask_the_desk(state.clone(), effect));
        let door = ServiceBuilder::new().option_layer(filter).service(desk);
        let told = door.oneshot(effect).await?;

        let body = match &told.answered {
            Answered::Ran(answer) | Answered::Replayed(answer) => Some(answer.body.clone()),
            _ => None,
        };
        let mut response = respond(told.answered).unwrap_or_else(IntoResponse::into_response);
        if let Some(wait) = wait.filter(|_| told.waited) {
            let applied =
                HeaderValue::from_str(&format!("wait={}", wait.as_secs())).expect("digits and ASCII");
            response.headers_mut().insert(PREFERENCE_APPLIED, applied);
        }
        Ok((body, response))
    }
}

/// The desk, and in front of it what can be answered from memory, whether the key may begin anything, and the look-up that
/// a command may need: in this order, so that a repeat of what is remembered needs no database.
async fn ask_the_desk(state: AppState, effect: Effect) -> Result<Told, Problem> {
    let Effect { name, fingerprint, operation, wanted, wait, facts } = effect;
    if let Some(answered) = traces::replay(&state.desk, operation, &name, fingerprint) {
        return Ok(Told { answered, waited: false });
    }
    let standing = admit_key(&state, &name).await?;
    let command = match wanted {
        Wanted::Command(command) => command,
        Wanted::LookedUp(command) => command.await?,
        Wanted::Undoable(problem) => {
            let pool = state.database.pool();
            let answered = look_up(pool, || state.desk.answered_before(&name, fingerprint)).await?;
            return Ok(Told { answered: answered.ok_or(problem)?, waited: false });
        }
    };
    let request_id = facts.request_id().to_owned();
    let request = desk::Request { name, fingerprint, operation, command, request_id };
    facts.note_submitted();
    let reply = traces::submit(&state.desk, request, wait).await;
    if standing != Standing::NotIssued && matches!(reply.answered, Answered::Ran(_)) {
        state.metrics.issued_key(IssuedKey::Used);
    }
    Ok(Told { answered: reply.answered, waited: reply.waited })
}

/// The one place that decides what the desk's answers are in HTTP.
fn respond(answered: Answered) -> Result<Response, Problem> {
    let problem = match answered {
        Answered::Ran(answer) => return Ok(answer_response(answer)),
        Answered::Replayed(answer) => {
            let mut response = answer_response(answer);
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
            return Ok(response);
        }
        Answered::InProgress => Problem::new(
            Slug::IdempotencyInProgress,
            "the first request under this key is still running; ask again under the same key",
        ),
        Answered::Reused => Problem::new(
            Slug::IdempotencyKeyReused,
            "the key has been used for another request; use a new key for a new operation",
        ),
        Answered::Undecided => Problem::new(
            Slug::RefundUndecided,
            "how much is left depends on a refund whose provider has not said yet what became of it; nothing was done, retry \
             with the same key",
        ),
        Answered::Contended => Problem::new(
            Slug::BalanceContended,
            "the balance changed at every attempt; nothing was done, retry with the same key",
        ),
        Answered::Overloaded => Problem::new(
            Slug::Overloaded,
            "too many requests are waiting; nothing was done, retry with the same key",
        ),
        Answered::Unavailable => Problem::new(
            Slug::Unavailable,
            "the database cannot be reached; nothing was done, retry with the same key",
        ),
        Answered::OutcomeUnknown => Problem::new(
            Slug::OutcomeUnknown,
            "the effect may have happened or not; retry with the same key only, which tells",
        ),
        Answered::Failed => Problem::internal(),
    };
    Err(problem)
}

/// The stored answer, byte for byte.
fn answer_response(answer: Answer) -> Response {
    let slug = slug_of(&answer);
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Some(slug) = slug {
        response.extensions_mut().insert(slug);
    }
    let headers = response.headers_mut();
    if let Ok(content_type) = HeaderValue::from_str(&answer.content_type) {
        headers.insert(header::CONTENT_TYPE, content_type);
    }
    if let Some(location) = answer.location.and_then(|location| HeaderValue::try_from(location).ok()) {
        headers.insert(header::LOCATION, location);
    }
    response
}

/// What kind of problem a stored answer is: for the log and the metrics, which see the words only.
fn slug_of(answer: &Answer) -> Option<Slug> {
    #[derive(Deserialize)]
    struct Typed<'a> {
        r#type: &'a str,
    }
    if answer.content_type != problem::CONTENT_TYPE {
        return None;
    }
    let typed: Typed<'_> = serde_json::from_slice(&answer.body).ok()?;
    Slug::from_word(typed.r#type.strip_prefix("/problems/")?)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    fn stored() -> Answer {
        Answer {
            status: 201,
            content_type: Cow::Borrowed("application/json"),
            location: Some("/v1/orders/1".to_owned()),
            body: Bytes::from_static(b"{}"),
        }
    }

    #[test]
    fn a_replay_differs_from_the_first_answer_in_one_header_only() {
        let first = respond(Answered::Ran(stored())).unwrap();
        let mut again = respond(Answered::Replayed(stored())).unwrap();
        assert_eq!(again.headers_mut().remove(REPLAYED).unwrap(), "true");
        assert_eq!(first.status(), again.status());
        assert_eq!(first.headers(), again.headers());
    }

    #[test]
    fn the_kind_of_a_stored_refusal_is_known() {
        let problem = Problem::new(Slug::InsufficientFunds, "too little");
        let refusal = Answer {
            status: 402,
            content_type: Cow::Borrowed(problem::CONTENT_TYPE),
            location: None,
            body: problem.document("r-1"),
        };
        assert_eq!(slug_of(&refusal), Some(Slug::InsufficientFunds));
        assert_eq!(slug_of(&stored()), None);
    }

    #[test]
    fn what_the_desk_could_not_do_is_never_a_stored_kind_of_problem() {
        let table = [
            (Answered::InProgress, 409, "idempotency-in-progress"),
            (Answered::Reused, 422, "idempotency-key-reused"),
            (Answered::Undecided, 409, "refund-undecided"),
            (Answered::Contended, 503, "balance-contended"),
            (Answered::Overloaded, 503, "overloaded"),
            (Answered::Unavailable, 503, "unavailable"),
            (Answered::OutcomeUnknown, 503, "outcome-unknown"),
            (Answered::Failed, 500, "internal"),
        ];
        for (answered, status, word) in table {
            let problem = respond(answered).unwrap_err();
            assert_eq!((problem.status().as_u16(), problem.slug.as_str()), (status, word));
            assert!(!problem.slug.entry().stored);
        }
    }
}
