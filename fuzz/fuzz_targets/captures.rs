#![no_main]

#[allow(dead_code, reason = "the other targets have programs of their own")]
#[path = "../../tests/fuzz/callbacks.rs"]
mod callbacks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| callbacks::captures(bytes));
