#![no_main]

#[allow(dead_code, reason = "the other targets have programs of their own")]
#[path = "../../tests/fuzz/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::bodies(bytes));
