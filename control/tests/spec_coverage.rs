//! `docs/conformance.md` says for each statement of the specification which test proves it; this
//! says whether that is so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Sections 0 to 8 and 10: a letter, and how many statements it has.
const STATEMENTS: [(&str, u32); 10] = [
    ("P", 5),
    ("T", 19),
    ("H", 5),
    ("E", 10),
    ("Z", 4),
    ("S", 7),
    ("F", 5),
    ("W", 8),
    ("R", 5),
    ("N", 7),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The table: id → what is said to prove it.
fn table() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root().join("docs/conformance.md")).expect("the table");
    let rows = text.lines().filter_map(|line| {
        let (id, proof) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
        Some((id.to_owned(), proof.to_owned()))
    });
    rows.filter(|(id, _)| id.contains('-') && !id.starts_with('-')).collect()
}

/// What is wrong with one row.
fn faults(id: &str, proof: &str) -> Vec<String> {
    if let Some(reason) = proof.strip_prefix("later: ") {
        return if reason.is_empty() { vec![format!("{id}: later, but why?")] } else { Vec::new() };
    }
    let tests: Vec<_> = proof.split(", ").collect();
    tests.iter().filter_map(|test| fault(id, test)).collect()
}

fn fault(id: &str, test: &str) -> Option<String> {
    let Some((file, function)) = test.trim_matches('`').split_once("::") else {
        return Some(format!("{id}: {test:?} is no `path::function`"));
    };
    let Ok(text) = std::fs::read_to_string(root().join(file)) else {
        return Some(format!("{id}: there is no file {file}"));
    };
    if !text.contains(&format!("fn {function}(")) {
        return Some(format!("{id}: {file} has no test {function}"));
    }
    let mentioned = names(id, function) || mentions(id, &text);
    (!mentioned).then(|| format!("{id}: neither {function} nor {file} mentions it"))
}

/// Whether a test's name starts with the id, alone or among others: `t13_t15_…`.
fn names(id: &str, function: &str) -> bool {
    let short = id.replace('-', "").to_lowercase();
    function.split('_').any(|word| word == short)
}

/// Whether a text has the id: `T-11`, or within `T-8 to T-15`.
fn mentions(id: &str, text: &str) -> bool {
    let (letter, number) = id.split_once('-').expect("an id");
    let number: u32 = number.parse().expect("a number");
    let start = format!("{letter}-");
    let mut after = text.match_indices(&start).map(|(at, _)| &text[at + start.len()..]);
    after.any(|rest| {
        let first = leading_number(rest);
        let last = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let last = last.strip_prefix(" to ").and_then(|r| r.strip_prefix(&start));
        let last = last.and_then(leading_number).or(first);
        first.zip(last).is_some_and(|(first, last)| (first..=last).contains(&number))
    })
}

fn leading_number(text: &str) -> Option<u32> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    text[..digits].parse().ok()
}

#[test]
fn every_statement_has_a_test_that_exists_and_names_it() {
    let table = table();
    let ids =
        STATEMENTS.iter().flat_map(|(letter, n)| (1..=*n).map(move |i| format!("{letter}-{i}")));
    let ids: Vec<_> = ids.collect();
    let missing =
        ids.iter().filter(|id| !table.contains_key(*id)).map(|id| format!("{id}: no row"));
    let unknown =
        table.keys().filter(|id| !ids.contains(id)).map(|id| format!("{id}: no statement"));
    let wrong = table.iter().flat_map(|(id, proof)| faults(id, proof));
    let faults: Vec<_> = missing.chain(unknown).chain(wrong).collect();
    assert!(faults.is_empty(), "docs/conformance.md:\n{}", faults.join("\n"));
}

#[test]
fn the_check_finds_what_is_wrong() {
    let here = "control/tests/spec_coverage.rs";
    for (id, proof, fault) in [
        ("T-1", "later: ".to_owned(), "but why?"),
        ("T-1", "`nothing`".to_owned(), "is no `path::function`"),
        ("T-1", "`control/tests/none.rs::t1_x`".to_owned(), "there is no file"),
        ("T-1", format!("`{here}::t1_x`"), "has no test t1_x"),
        (concat!("P", "-4"), format!("`{here}::the_check_finds_what_is_wrong`"), "mentions it"),
    ] {
        let found = faults(id, &proof).join("");
        assert!(found.contains(fault), "{found}");
    }
    assert!(mentions("T-11", "(T-8 to T-15)") && !mentions("T-16", "(T-8 to T-15)"));
    assert!(mentions("T-1", "T-1.") && !mentions("T-1", "T-11"));
    assert!(names("T-15", "t13_t15_a_drained_backend") && !names("T-1", "t13_x"));
}
