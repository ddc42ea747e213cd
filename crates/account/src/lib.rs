//! Accounts, the double-entry journal, and the rules that move money.
