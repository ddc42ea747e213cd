//! An event as one line of JSON: `timestamp`, `level`, `target`, `message`, the event's fields, and the `request_id`.
//!
//! The members stand side by side, so that a line can be searched by any of them, and spans are left out: what a request's
//! lines have in common is its id.

use std::error::Error;
use std::fmt::{self, Debug, Write};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::request_id;

/// Writes events as lines of JSON.
#[derive(Clone, Copy, Debug)]
pub struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut line: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        line.write_str("{\"timestamp\":\"")?;
        SystemTime.format_time(&mut line)?;
        write!(line, "\",\"level\":\"{}\",\"target\":", event.metadata().level())?;
        string(&mut line, event.metadata().target())?;
        let mut members = Members { line: &mut line, written: Ok(()) };
        event.record(&mut members);
        members.written?;
        if let Some(id) = request_id::current() {
            member(&mut line, "request_id", id.as_str())?;
        }
        line.write_str("}\n")
    }
}

/// Writes an event's fields as members of the object that is open.
struct Members<'a, W> {
    line: &'a mut W,
    written: fmt::Result,
}

impl<W: Write> Members<'_, W> {
    fn write(&mut self, name: &str, value: impl FnOnce(&mut W) -> fmt::Result) {
        if self.written.is_ok() {
            self.written = name_of(self.line, name).and_then(|()| value(self.line));
        }
    }
}

impl<W: Write> Visit for Members<'_, W> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.write(field.name(), |line| string(line, value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.write(field.name(), |line| write!(line, "{value}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.write(field.name(), |line| write!(line, "{value}"));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.write(field.name(), |line| write!(line, "{value}"));
    }

    /// An error with all that caused it.
    fn record_error(&mut self, field: &Field, error: &(dyn Error + 'static)) {
        let mut told = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !told.contains(&text) {
                told.push_str(": ");
                told.push_str(&text);
            }
            cause = error.source();
        }
        self.write(field.name(), |line| string(line, &told));
    }

    /// Everything else, the message included.
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.write(field.name(), |line| {
            line.write_char('"')?;
            write!(Escaped(line), "{value:?}")?;
            line.write_char('"')
        });
    }
}

fn member(line: &mut impl Write, name: &str, value: &str) -> fmt::Result {
    name_of(line, name)?;
    string(line, value)
}

fn name_of(line: &mut impl Write, name: &str) -> fmt::Result {
    line.write_char(',')?;
    string(line, name)?;
    line.write_char(':')
}

fn string(line: &mut impl Write, text: &str) -> fmt::Result {
    line.write_char('"')?;
    Escaped(line).write_str(text)?;
    line.write_char('"')
}

/// Escapes what may not stand in a string (RFC 8259, 7).
struct Escaped<'a, W>(&'a mut W);

impl<W: Write> Write for Escaped<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1F)) {
            self.0.write_str(&rest[..at])?;
            match rest.as_bytes()[at] {
                byte @ (b'"' | b'\\') => write!(self.0, "\\{}", char::from(byte))?,
                b'\n' => self.0.write_str("\\n")?,
                byte => write!(self.0, "\\u{byte:04x}")?,
            }
            rest = &rest[at + 1..];
        }
        self.0.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use proptest::prelude::*;
    use serde_json::{Value, json};
    use tracing::subscriber::with_default;

    use super::*;
    use crate::request_id::{self, RequestId};

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The line that is logged by this, without its time.
    fn line_of(log: impl FnOnce()) -> Value {
        let kept = Kept::default();
        let writer = kept.clone();
        let subscriber =
            tracing_subscriber::fmt().event_format(JsonLines).with_writer(move || writer.clone()).finish();
        with_default(subscriber, log);
        let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        let line = text.strip_suffix('\n').unwrap();
        assert!(!line.contains('\n'), "it is one line: {line}");
        let mut line: Value = serde_json::from_str(line).unwrap();
        let time = line.as_object_mut().unwrap().remove("timestamp").unwrap();
        assert!(time.as_str().unwrap().ends_with('Z'), "{time}");
        line
    }

    #[test]
    fn fields_stand_side_by_side_and_what_is_not_there_is_left_out() {
        let line = line_of(|| {
            tracing::info!(
                target: "t",
                text = "a \"b\"\\\n\u{1}",
                count = 7_u64,
                below = -1,
                yes = true,
                none = None::<&str>,
                some = Some("x"),
                shown = %"s",
                "hello {}",
                "you"
            );
        });
        let expected = json!({
            "level": "INFO", "target": "t", "message": "hello you",
            "text": "a \"b\"\\\n\u{1}", "count": 7, "below": -1, "yes": true, "some": "x", "shown": "s",
        });
        assert_eq!(line, expected);
    }

    #[test]
    fn an_error_is_told_with_what_caused_it() {
        let error = anyhow::anyhow!("the cause").context("the error");
        let error: &(dyn Error + 'static) = error.as_ref();
        let line = line_of(|| tracing::warn!(target: "t", error, "it failed"));
        assert_eq!(line["error"], "the error: the cause");
    }

    #[tokio::test]
    async fn a_line_of_a_request_has_its_id() {
        let mut headers = http::HeaderMap::new();
        headers.insert(request_id::HEADER, "r-\"1".parse().unwrap());
        let id = RequestId::of(&headers);
        let served = async { line_of(|| tracing::info!(target: "t", "m")) };
        let line = request_id::while_serving(id, served).await;
        assert_eq!(line, json!({ "level": "INFO", "target": "t", "message": "m", "request_id": "r-\"1" }));
        assert!(line_of(|| tracing::info!("m")).get("request_id").is_none());
    }

    proptest! {
        #[test]
        fn any_text_is_read_back_as_it_was(text in any::<String>()) {
            let mut written = String::new();
            string(&mut written, &text).unwrap();
            prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
        }
    }
}
