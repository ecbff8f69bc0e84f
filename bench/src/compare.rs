//! Two revisions, measured in turn: what has become of each figure?

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::clock::median;
use crate::report::{Report, one, two};

/// Compares what `bench path` wrote into these folders, one for each run.
pub fn run(base: &[PathBuf], new: &[PathBuf], folder: &Path) -> Result<()> {
    let (base, new) = (read(base)?, read(new)?);
    let unit = |figures: &BTreeMap<String, Vec<f64>>| {
        figures.get("unit").map_or(f64::NAN, |rounds| median(rounds))
    };
    let scale = unit(&base) / unit(&new);
    let columns = ["one worker", "base ns", "now ns", "now ÷ base", "in units"];
    let mut report = Report::new("compare", &columns);
    for (name, rounds) in &new {
        let Some(before) = base.get(name) else { continue };
        let (before, now) = (median(before), median(rounds));
        let cells = [one(before), one(now), two(now / before), two(now / before * scale)];
        report.row(&**name, &cells, rounds);
    }
    report.note("medians over all rounds of all runs; runs of both took turns");
    report.finish(folder)
}

/// The rounds of each row, over all runs.
fn read(folders: &[PathBuf]) -> Result<BTreeMap<String, Vec<f64>>> {
    let mut figures = BTreeMap::<String, Vec<f64>>::new();
    for folder in folders {
        for row in Report::read(&folder.join("path.json"))?.rows {
            figures.entry(row.name).or_default().extend(row.rounds);
        }
    }
    Ok(figures)
}
