//! The order in which events are published to a server.
//!
//! A server accepts events one by one, and may refuse one and accept the next: a leader changes, a disk is full for a
//! moment. An event that was refused is published again, and would then stand behind what came after it. So of each thing
//! the next event is sent when the one before it has been accepted, and not earlier. A batch has few events of any one
//! thing, so that few waves carry all of it.

use std::collections::HashMap;

use crate::Message;

/// The messages in waves, each with no more than one event of any thing. Whoever publishes a wave waits for the server to
/// accept all of it before the next. The messages of one thing must stand in their order.
pub fn waves(messages: &[Message]) -> Vec<Vec<&Message>> {
    let mut waves: Vec<Vec<&Message>> = Vec::new();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for message in messages {
        let before = seen.entry(&message.subject).or_default();
        if *before == waves.len() {
            waves.push(Vec::new());
        }
        waves[*before].push(message);
        *before += 1;
    }
    waves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::tests::message;

    #[test]
    fn a_wave_has_one_event_of_a_thing_and_the_next_wave_the_next() {
        let messages: Vec<Message> = [("a", 1), ("a", 2), ("a", 5), ("b", 1), ("c", 1), ("c", 2)]
            .into_iter()
            .map(|(subject, sequence)| message(subject, sequence))
            .collect();
        let told: Vec<Vec<(&str, i64)>> = waves(&messages)
            .iter()
            .map(|wave| wave.iter().map(|message| (&*message.subject, message.sequence)).collect())
            .collect();
        assert_eq!(told, [vec![("a", 1), ("b", 1), ("c", 1)], vec![("a", 2), ("c", 2)], vec![("a", 5)]]);
    }

    #[test]
    fn nothing_is_no_wave() {
        assert!(waves(&[]).is_empty());
    }
}
