//! The order: its states, its transitions and its records.
