//! The section of the README, as steps.
//!
//! It stands between two comments. A block of `sh` is typed; the block of `text` or `json` that comes next is what it
//! prints, and without one it prints nothing. A comment of its own stops the service and starts it again.

use crate::shown::Shown;

const BEGIN: &str = "<!-- first five minutes: begin -->";
const RESTART: &str = "<!-- first five minutes: the service is stopped and started again -->";
const END: &str = "<!-- first five minutes: end -->";

/// What the reader does next.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// Types a command, which stands at this line of the page, and sees this.
    Type {
        /// Counted from 1.
        line: usize,
        command: String,
        shown: Shown,
    },
    /// Stops the service and starts it again.
    Restart,
}

/// The steps of the section.
pub fn first_five_minutes(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = page.lines().enumerate().skip_while(|(_, line)| *line != BEGIN).skip(1);
    loop {
        let (index, line) = lines.next().expect("the section has an end");
        if line == END {
            break;
        } else if line == RESTART {
            steps.push(Step::Restart);
        } else if let Some(language) = line.strip_prefix("```") {
            let block: Vec<&str> =
                lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
            let block = block.join("\n");
            match language {
                "sh" => steps.push(Step::Type { line: index + 2, command: block, shown: Shown::Nothing }),
                "text" => show(&mut steps, Shown::Text(block)),
                "json" => show(&mut steps, Shown::Json(block)),
                other => panic!("README.md:{}: a block of {other:?} is neither typed nor shown", index + 1),
            }
        }
    }
    assert!(!steps.is_empty(), "the section has no steps");
    steps
}

fn show(steps: &mut [Step], block: Shown) {
    match steps.last_mut() {
        Some(Step::Type { shown, .. }) if *shown == Shown::Nothing => *shown = block,
        _ => panic!("what is shown stands below the command that prints it: {block:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_its_commands_with_what_they_print() {
        let page = format!(
            "```sh\nbefore\n```\n{BEGIN}\nprose\n```sh\na\nb\n```\n\n```sh\nc\n```\n\n```text\nd\n```\n{RESTART}\n```sh\ne\n```\n```json\n1\n```\n{END}\n```sh\nafter\n```\n"
        );
        let typed = |line, command: &str, shown| Step::Type { line, command: command.to_owned(), shown };
        assert_eq!(
            first_five_minutes(&page),
            [
                typed(7, "a\nb", Shown::Nothing),
                typed(12, "c", Shown::Text("d".to_owned())),
                Step::Restart,
                typed(20, "e", Shown::Json("1".to_owned())),
            ]
        );
    }

    #[test]
    #[should_panic(expected = "the section has an end")]
    fn a_section_without_an_end_is_caught() {
        first_five_minutes(BEGIN);
    }
}
