//! Events through real brokers: nothing lost, and of each thing in order, whoever is killed.
//!
//! What both brokers promise is written once ([`promises`]), and asked of each of them ([`nats`], [`rabbitmq`]).

mod documented;
mod nats;
mod program;
mod promises;
mod rabbitmq;
mod spectator;
mod written;
