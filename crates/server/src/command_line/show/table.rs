//! Rows and columns, aligned.

/// Which end of a column's cells stands in line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// The lines of a table: its headings, then its rows, each column as wide as its widest cell.
pub fn lines<const N: usize>(columns: [(&str, Align); N], rows: &[[String; N]]) -> Vec<String> {
    let rows: Vec<[String; N]> = rows.iter().map(|row| row.clone().map(|cell| shown(&cell))).collect();
    let mut widths = columns.map(|(heading, _)| width(heading));
    for row in &rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = (*widest).max(width(cell));
        }
    }
    let headings = columns.map(|(heading, _)| heading.to_owned());
    std::iter::once(&headings)
        .chain(&rows)
        .map(|row| {
            let cells = row.iter().zip(columns).zip(widths);
            let padded: Vec<String> = cells
                .map(|((cell, (_, align)), widest)| {
                    let padding = " ".repeat(widest - width(cell));
                    match align {
                        Align::Left => format!("{cell}{padding}"),
                        Align::Right => format!("{padding}{cell}"),
                    }
                })
                .collect();
            padded.join("  ").trim_end().to_owned()
        })
        .collect()
}

/// What a provider wrote may be anything, and a terminal obeys control characters.
fn shown(cell: &str) -> String {
    cell.replace(char::is_control, "\u{fffd}")
}

/// In characters: enough for what stands in the books, most of which is ASCII.
fn width(cell: &str) -> usize {
    cell.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_told_nothing_but_text() {
        let rows = [["a\u{1b}[2Jb\n".to_owned()]];
        assert_eq!(lines([("WHAT", Align::Left)], &rows)[1], "a\u{fffd}[2Jb\u{fffd}");
    }

    #[test]
    fn words_stand_at_the_left_and_figures_at_the_right() {
        let row = |name: &str, amount: &str| [name.to_owned(), amount.to_owned()];
        assert_eq!(
            lines(
                [("WHAT", Align::Left), ("AMOUNT", Align::Right)],
                &[row("deposit", "1.00"), row("zürich", "10000.00"), row("", "")]
            ),
            ["WHAT       AMOUNT", "deposit      1.00", "zürich   10000.00", ""]
        );
    }
}
