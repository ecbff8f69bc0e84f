//! Figures as a table for people and as a file for whoever quotes or compares them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::clock::median;

/// What one bench has found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// The bench.
    pub name: String,
    /// What the figures were taken on.
    pub machine: BTreeMap<String, String>,
    /// The columns' heads; the first is that of the rows' names.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
    /// What is to be read beside them.
    pub notes: Vec<String>,
}

/// A row's name, its cells, and what they came from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// As printed.
    pub cells: Vec<String>,
    /// The figure of each round, where there were rounds.
    pub rounds: Vec<f64>,
}

impl Report {
    /// An empty one.
    pub fn new(name: &str, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&c| c.into()).collect();
        Self { name: name.into(), machine: machine(), columns, ..Self::default() }
    }

    /// Adds a row.
    pub fn row(&mut self, name: impl Into<String>, cells: &[String], rounds: &[f64]) {
        let (name, cells, rounds) = (name.into(), cells.to_vec(), rounds.to_vec());
        self.rows.push(Row { name, cells, rounds });
    }

    /// Adds a line under the table.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Prints the table and writes `<name>.json` into `folder`.
    pub fn finish(&self, folder: &Path) -> Result<()> {
        println!("{}", self.text());
        std::fs::create_dir_all(folder)?;
        let file = folder.join(format!("{}.json", self.name));
        std::fs::write(file, serde_json::to_string_pretty(self)?)?;
        Ok(())
    }

    /// Reads one that [`Report::finish`] wrote.
    pub fn read(file: &PathBuf) -> Result<Self> {
        Ok(serde_json::from_str(&std::fs::read_to_string(file)?)?)
    }

    /// The table, first column to the left, the others to the right; then the notes.
    pub fn text(&self) -> String {
        let lines: Vec<Vec<&str>> = std::iter::once(self.columns.iter().map(|c| &**c).collect())
            .chain(self.rows.iter().map(|row| {
                std::iter::once(&*row.name).chain(row.cells.iter().map(|c| &**c)).collect()
            }))
            .collect();
        let width = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let mut text = format!("{}\n", self.name);
        for line in &lines {
            let cells = line.iter().enumerate().map(|(i, cell)| pad(cell, width(i), i == 0));
            text += &format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
        self.notes.iter().for_each(|note| text += &format!("  {note}\n"));
        text
    }
}

fn pad(cell: &str, width: usize, left: bool) -> String {
    if left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
}

/// One decimal.
pub fn one(figure: f64) -> String {
    if figure.is_nan() { "–".into() } else { format!("{figure:.1}") }
}

/// Two decimals.
pub fn two(figure: f64) -> String {
    if figure.is_nan() { "–".into() } else { format!("{figure:.2}") }
}

/// The middle of some rounds and their extremes: `31.4 (29.8–40.1)`.
pub fn spread(rounds: &[f64]) -> String {
    let least = rounds.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rounds.iter().copied().fold(0.0, f64::max);
    format!("{:.1} ({least:.1}–{most:.1})", median(rounds))
}

fn machine() -> BTreeMap<String, String> {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    let facts = [
        ("cpu", model.unwrap_or("unknown").to_owned()),
        ("cpus", crate::clock::cpus().to_string()),
        ("kernel", read("/proc/sys/kernel/osrelease").trim().to_owned()),
        ("load", read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" ")),
        ("dpdk", dpdk::Eal::version()),
    ];
    facts.map(|(fact, value)| (fact.to_owned(), value)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_a_report_survives_its_file() {
        let mut report = Report::new("name", &["what", "ns"]);
        report.row("long name", &[one(3.06)], &[1.0]);
        report.row("short", &[one(f64::NAN)], &[]);
        report.note("a note");
        let text = "name\n  what        ns\n  long name  3.1\n  short        –\n  a note\n";
        assert_eq!(report.text(), text);
        let json = serde_json::to_string(&report).expect("serializes");
        let again: Report = serde_json::from_str(&json).expect("reads");
        assert_eq!(again.text(), text);
    }
}
