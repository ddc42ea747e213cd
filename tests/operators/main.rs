//! What those who run the service are given: alerts that fire when they should, a dashboard whose every question finds an
//! answer, and a page that says what to do.

mod alerts;
mod prometheus;
mod queries;
