//! The one door: every effect, at most once under its name, in one transaction.
