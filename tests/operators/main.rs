//! What those who run the service are given: alerts that fire when they should, and a page that says what to do.

mod alerts;
