//! The outbox: events written in the transaction of their effect.
