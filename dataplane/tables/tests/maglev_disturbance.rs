//! S-3: how many hashes move when a set changes, beside the least that must. Run with
//! `--nocapture` for the figures.

use tables::HashSeed;
use tables::maglev::{Maglev, Member};

const SIZE: u32 = 65_537;
const SEED: HashSeed = HashSeed(*b"0123456789abcdef");
const COUNTS: [usize; 8] = [2, 3, 5, 10, 30, 100, 300, 1000];

/// The owner of every slot, by name, for members `0..weights.len()`; weight 0 stands for absence.
fn owners(weights: &[u32]) -> Vec<usize> {
    let present: Vec<usize> = (0..weights.len()).filter(|i| weights[*i] > 0).collect();
    let names: Vec<String> = present.iter().map(|i| format!("group/b{i:05}")).collect();
    let members: Vec<_> =
        names.iter().zip(&present).map(|(name, i)| Member { name, weight: weights[*i] }).collect();
    let table = Maglev::build(&members, SIZE, &SEED).expect("valid");
    // Each slot by the hash in its middle.
    let hash = |slot: u64| ((u128::from(2 * slot + 1) << 63) / u128::from(SIZE)) as u64;
    (0..u64::from(SIZE)).map(|s| present[table.lookup(hash(s)).expect("somebody")]).collect()
}

/// What moved, as shares of all slots: from or to `changed`, and between two others.
fn moved(before: &[u32], after: &[u32], changed: usize) -> (f64, f64) {
    let (before, after) = (owners(before), owners(after));
    let moves: Vec<_> = before.iter().zip(&after).filter(|(b, a)| b != a).collect();
    let involved = moves.iter().filter(|(b, a)| **b == changed || **a == changed).count();
    let share = |count: usize| count as f64 / f64::from(SIZE);
    (share(involved), share(moves.len() - involved))
}

#[test]
fn a_newcomer_takes_its_share_and_little_else_moves() {
    for count in COUNTS {
        let mut before = vec![1; count];
        let after = before.clone();
        let changed = count / 2;
        before[changed] = 0;
        let (took, others) = moved(&before, &after, changed);
        let ideal = 1.0 / count as f64;
        println!("add to {count:>4}: took {took:.5}, ideal {ideal:.5}, others moved {others:.5}");
        assert!((took - ideal).abs() <= 2.0 / f64::from(SIZE), "{count}: {took}");
        assert!(others < 0.025, "{count}: {others}");
        // The other way round, the same slots come back: one that goes gives up its share.
        assert_eq!(moved(&after, &before, changed), (took, others));
    }
}

#[test]
fn a_change_of_weight_moves_about_the_change_of_share() {
    for count in COUNTS {
        let before = vec![10; count];
        let mut after = before.clone();
        let changed = count / 2;
        after[changed] = 20;
        let (moved, others) = moved(&before, &after, changed);
        let ideal = 2.0 / (count as f64 + 1.0) - 1.0 / count as f64;
        println!("double of {count:>4}: moved {moved:.5}, ideal {ideal:.5}, others {others:.5}");
        assert!(moved < ideal * 1.1 + 0.005, "{count}: {moved}");
        assert!(others < 0.035, "{count}: {others}");
    }
}
