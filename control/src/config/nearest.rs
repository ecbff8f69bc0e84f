//! The name that was probably meant.

/// The candidate that is closest to `name`, if any is close enough to be a slip of the hand.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    let scored =
        candidates.into_iter().map(|c| (distance(&name.to_lowercase(), &c.to_lowercase()), c));
    scored.filter(|(d, _)| *d <= limit).min().map(|(_, candidate)| candidate)
}

/// How many letters must be put in, taken out or changed (Levenshtein's distance).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_another_word_finds_none() {
        let names = ["session_affinity", "tracking_mode", "name"];
        assert_eq!(nearest("sesion_afinity", names), Some("session_affinity"));
        assert_eq!(nearest("Tracking-Mode", names), Some("tracking_mode"));
        assert_eq!(nearest("nam", names), Some("name"));
        assert_eq!(nearest("weight", names), None);
        assert_eq!(nearest("", names), None);
    }
}
