//! Answers as text, for people. Pure: colours are asked for, never guessed.

mod bond;
mod connections;
mod counters;
mod health;
mod status;
#[cfg(test)]
mod tests;

pub use bond::{bond, member};
pub use connections::{count, list};
pub use counters::{Shown, counters};
pub use health::health;
pub use status::status;

use comfy_table::{Cell, CellAlignment, Color, Table, presets};

/// How text may look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Whether it may have colours: only on a terminal, and not where NO_COLOR is set.
    pub colours: bool,
}

/// A table without lines; columns of numbers, counted from 0, to the right.
fn table(look: Look, head: &[&str], numbers: &[usize], rows: Vec<Vec<Cell>>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(head.iter().map(Cell::new));
    table.add_rows(rows);
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if numbers.contains(&number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    match look.colours {
        true => table.enforce_styling(),
        false => table.force_no_tty(),
    };
    let lines = table.lines().map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}

fn good(text: impl ToString) -> Cell {
    Cell::new(text).fg(Color::Green)
}

fn bad(text: impl ToString) -> Cell {
    Cell::new(text).fg(Color::Red)
}

fn odd(text: impl ToString) -> Cell {
    Cell::new(text).fg(Color::Yellow)
}

/// What is not known.
fn or_unknown(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".into(), |value| value.to_string())
}

/// `0`, `7.5`, `1.2 k`, `340.0 M`
fn brief(rate: f64) -> String {
    const STEPS: [(f64, &str); 3] = [(1e9, " G"), (1e6, " M"), (1e3, " k")];
    let step = STEPS.iter().find(|(from, _)| rate >= *from);
    match step {
        Some((from, unit)) => format!("{:.1}{unit}", rate / from),
        None if rate == 0.0 => "0".into(),
        None => format!("{rate:.1}"),
    }
}

/// `12 s`, `5 min`, `3 h 20 min`, `2 d 4 h`.
fn span(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
