//! `/v1/reports` and below.

pub mod daily;
