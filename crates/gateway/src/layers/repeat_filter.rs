//! What is answered before the desk is asked: repeats that another server has answered.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use chrono::{DateTime, Utc};
use futures::future::Either;
use idempotency::{Answer, Fingerprint, Name};
use tower_layer::Layer;
use tower_service::Service;

use super::Guarded;
use crate::repeats::{Asked, Errand, Repeats};

/// A request for an effect, by the name of the effect.
pub trait Effect {
    /// The name under which it happens once.
    fn name(&self) -> &Name;

    /// What is asked for, as far as repeats are told from reuses by it.
    fn fingerprint(&self) -> Fingerprint;
}

/// What a request for an effect is answered.
pub trait Reply {
    /// That of an earlier request, again.
    fn replayed(answer: Answer) -> Self;
}

/// The finished answers that this process remembers. They come before all that other servers know, and are the only ones
/// that others are told of: so each must be committed, and never change.
pub trait Memory: Clone + Send + Sync + 'static {
    /// Whether it can answer by itself, be it that the name was used for another request.
    fn knows(&self, name: &Name, fingerprint: Fingerprint) -> bool;

    /// What a request was answered, and when its record may be deleted at the earliest.
    fn answer(&self, name: &Name, fingerprint: Fingerprint) -> Option<(Answer, DateTime<Utc>)>;

    /// Takes note of an answer that another server has given, and that is given here now.
    fn note(&self, name: &Name, fingerprint: Fingerprint, answer: &Answer, expires_at: DateTime<Utc>);

    /// The time.
    fn now(&self) -> DateTime<Utc>;
}

/// Answers repeats that this process does not remember and another one has answered, and tells the others what becomes of
/// the rest.
#[derive(Clone)]
pub struct RepeatFilterLayer<M> {
    repeats: Arc<Repeats>,
    memory: M,
}

impl<M> RepeatFilterLayer<M> {
    /// A layer before what fills `memory`.
    pub fn new(repeats: Arc<Repeats>, memory: M) -> Self {
        Self { repeats, memory }
    }
}

impl<M> fmt::Debug for RepeatFilterLayer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RepeatFilterLayer").finish_non_exhaustive()
    }
}

impl<S, M: Clone> Layer<S> for RepeatFilterLayer<M> {
    type Service = RepeatFilter<S, M>;

    fn layer(&self, inner: S) -> Self::Service {
        RepeatFilter { inner, repeats: Arc::clone(&self.repeats), memory: self.memory.clone() }
    }
}

/// The service of [`RepeatFilterLayer`].
#[derive(Clone)]
pub struct RepeatFilter<S, M> {
    inner: S,
    repeats: Arc<Repeats>,
    memory: M,
}

impl<S, M> fmt::Debug for RepeatFilter<S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RepeatFilter").finish_non_exhaustive()
    }
}

impl<S, M, R> Service<R> for RepeatFilter<S, M>
where
    S: Service<R> + Clone + Send + 'static,
    S::Response: Reply + Send,
    S::Future: Send,
    S::Error: Send + 'static,
    M: Memory,
    R: Effect + Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Guarded<S::Future, S::Response, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    /// What this process remembers is answered behind this layer, and what the service has named itself comes once.
    fn call(&mut self, request: R) -> Self::Future {
        let name = request.name();
        if name.key.is_of_service() || self.memory.knows(name, request.fingerprint()) {
            return Either::Left(self.inner.call(request));
        }
        let next = self.inner.clone();
        let inner = mem::replace(&mut self.inner, next);
        let asking = Self { inner, repeats: Arc::clone(&self.repeats), memory: self.memory.clone() };
        Either::Right(Box::pin(asking.ask(request)))
    }
}

impl<S, M: Memory> RepeatFilter<S, M> {
    async fn ask<R>(mut self, request: R) -> Result<S::Response, S::Error>
    where
        S: Service<R>,
        S::Response: Reply,
        R: Effect,
    {
        let (name, fingerprint) = (request.name().clone(), request.fingerprint());
        match self.repeats.ask(&name, fingerprint, self.memory.now()).await {
            Asked::Answered { answer, expires_at } => {
                self.memory.note(&name, fingerprint, &answer, expires_at);
                Ok(S::Response::replayed(answer))
            }
            Asked::Undecided(errand) => {
                let answered = self.inner.call(request).await;
                self.tell(errand, &name, fingerprint);
                answered
            }
        }
    }

    /// Tells the other servers what became of a request. What this one remembers of it now is committed, and for ever. A
    /// refusal that may run again is not among it, so no other server is told.
    fn tell(&self, errand: Errand, name: &Name, fingerprint: Fingerprint) {
        match self.memory.answer(name, fingerprint) {
            Some((answer, expires_at)) => {
                let now = self.memory.now();
                self.repeats.finished(errand, name, fingerprint, &answer, expires_at, now);
            }
            None => drop(errand),
        }
    }
}
