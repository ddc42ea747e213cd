//! Events through real brokers: nothing lost, and of each thing in order, whoever is killed.
//!
//! What both brokers promise is written once ([`promises`]), and asked of each of them ([`nats`], [`rabbitmq`]); and so is
//! what the consumers that ship make of it ([`consumers`]).

mod consumers;
mod documented;
mod nats;
mod program;
mod promises;
mod rabbitmq;
mod spectator;
mod written;
