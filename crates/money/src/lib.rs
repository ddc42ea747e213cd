//! Exact amounts of money in ISO 4217 minor units.
