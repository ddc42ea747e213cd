//! What is done with events: the daily totals, and the webhooks to clients.

mod kills;
mod pruning;
mod repetitions;
mod service;
mod stage;
mod webhook_receiver;
mod webhooks;
