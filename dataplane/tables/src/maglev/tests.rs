use super::*;
use std::sync::Arc;

const SEED: HashSeed = HashSeed(*b"0123456789abcdef");
const SIZE: u32 = 65_537;

fn names(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("group/b{i:05}")).collect()
}

fn members<'a>(names: &'a [String], weight: impl Fn(usize) -> u32) -> Vec<Member<'a>> {
    names.iter().enumerate().map(|(i, name)| Member { name, weight: weight(i) }).collect()
}

fn shares(weights: &[u32], size: u32) -> Vec<u32> {
    let names = names(weights.len());
    let table = Maglev::build(&members(&names, |i| weights[i]), size, &SEED).expect("valid");
    table.shares(weights.len())
}

/// Maglev as published, with turns by weight: the slow and obvious version. Credits stand for
/// `k × heaviest ÷ weight`: a turn comes whenever they cover one.
fn obvious(members: &[Member<'_>], size: u32) -> Vec<u16> {
    use siphasher::sip128::{Hasher128, SipHasher13};
    use std::hash::Hasher;
    let weights: Vec<u32> = members.iter().map(|m| m.weight).collect();
    let mut left = apportion::apportion(&weights, size).expect("fits");
    let heaviest = u64::from(*weights.iter().max().expect("somebody"));
    let mut orders: Vec<_> = members
        .iter()
        .map(|member| {
            let mut hasher = SipHasher13::new_with_key(&SEED.0);
            hasher.write(member.name.as_bytes());
            let hash = hasher.finish128();
            let size = u64::from(size);
            let (start, skip) = (hash.h1 % size, hash.h2 % (size - 1) + 1);
            (0..size).map(move |k| ((start + k * skip) % size) as usize)
        })
        .collect();
    let mut slots = vec![None; size as usize];
    let mut taken = vec![0u64; members.len()];
    for round in 0.. {
        for (i, weight) in weights.iter().enumerate() {
            let due = |turns: u64| turns * heaviest / u64::from(*weight) == round;
            while left[i] > 0 && due(taken[i]) {
                let slot = orders[i].find(|slot| slots[*slot].is_none()).expect("free");
                slots[slot] = Some(i as u16);
                left[i] -= 1;
                taken[i] += 1;
            }
        }
        if left.iter().all(|left| *left == 0) {
            return slots.into_iter().flatten().collect();
        }
    }
    unreachable!("rounds go on")
}

#[test]
fn the_table_is_the_obvious_one() {
    for (count, size) in [(1, 2), (2, 2), (3, 13), (13, 13), (7, 1009), (100, 1009), (10, SIZE)] {
        let names = names(count);
        for weight in [|_| 1, |i| i as u32 % 5 + 1, |i| if i == 0 { 1000 } else { 7 }] {
            let members = members(&names, weight);
            let table = Maglev::build(&members, size, &SEED).expect("valid");
            assert_eq!(*table.slots, *obvious(&members, size), "{count} in {size}");
        }
    }
}

/// S-5: appliances of two versions must agree, so these never change.
#[test]
fn golden_tables_stay() {
    let three = [("a/one", 1), ("a/two", 1), ("b/one", 1)];
    let weighted = [("a/one", 2), ("a/two", 0), ("b/one", 6)];
    let table = |members: &[(&str, u32)], size| {
        let members: Vec<_> =
            members.iter().map(|(name, weight)| Member { name, weight: *weight }).collect();
        Maglev::build(&members, size, &SEED).expect("valid").slots.into_vec()
    };
    assert_eq!(table(&three, 13), GOLDEN_13);
    assert_eq!(table(&three, 31), GOLDEN_31);
    assert_eq!(table(&weighted, 31), GOLDEN_WEIGHTED);
}

const GOLDEN_13: [u16; 13] = [2, 1, 2, 2, 2, 0, 0, 0, 1, 0, 1, 1, 0];
const GOLDEN_31: [u16; 31] =
    [1, 2, 2, 2, 1, 1, 2, 2, 1, 2, 1, 2, 1, 1, 2, 0, 0, 1, 0, 2, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 1];
const GOLDEN_WEIGHTED: [u16; 31] =
    [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0, 2, 0, 2, 2, 0, 2, 0, 2, 0, 0, 0, 0, 2, 2];

#[test]
fn the_order_of_the_members_does_not_matter() {
    let names = names(20);
    let mut members = members(&names, |i| i as u32);
    let table = Maglev::build(&members, 1009, &SEED).expect("valid");
    members.reverse();
    assert_eq!(Maglev::build(&members, 1009, &SEED), Ok(table));
}

#[test]
fn another_seed_makes_another_table() {
    let names = names(5);
    let members = members(&names, |_| 1);
    let table = Maglev::build(&members, 1009, &SEED);
    assert_ne!(Maglev::build(&members, 1009, &HashSeed([1; 16])), table);
}

#[test]
fn without_weights_shares_differ_by_at_most_one_slot() {
    for (count, size) in [(1, 13), (3, 13), (13, 13), (10, SIZE), (1000, SIZE), (999, 655_373)] {
        let shares = shares(&vec![1; count], size);
        let (least, most) = (shares.iter().min(), shares.iter().max());
        assert!(most.copied() <= least.map(|l| l + 1), "{count} members, {size} slots");
        assert_eq!(shares.iter().sum::<u32>(), size);
    }
}

#[test]
fn with_weights_shares_are_exact_to_the_slot() {
    // S-4's own examples; 65,537 = 5 × 13,107.4 = 8 × 8,192.125.
    assert_eq!(shares(&[1, 4], SIZE), [13_107, 52_430]);
    assert_eq!(shares(&[0, 2, 6], SIZE), [0, 16_384, 49_153]);
    // S-4: all zero share equally, the first by name take what is over.
    assert_eq!(shares(&[0, 0, 0], SIZE), [21_846, 21_846, 21_845]);
    assert_eq!(shares(&[7, 7, 7], SIZE), [21_846, 21_846, 21_845]);
    assert_eq!(shares(&[1, 1000], SIZE), [65, 65_472]);
}

#[test]
fn the_smallest_weight_has_a_slot_beside_the_largest() {
    let mut weights = vec![1000; 1000];
    weights[500] = 1;
    let shares = shares(&weights, SIZE);
    assert_eq!(shares[500], 1);
    assert!(shares.iter().all(|s| matches!(s, 1 | 65 | 66)));
    assert_eq!(self::shares(&[u32::MAX, 1, u32::MAX, 0], 13), [6, 1, 6, 0]);
    assert_eq!(self::shares(&[1, 1, 1000], 3), [1, 1, 1]);
}

#[test]
fn equal_ratios_make_equal_tables() {
    let names = names(3);
    let table = |weights: [u32; 3]| Maglev::build(&members(&names, |i| weights[i]), 1009, &SEED);
    assert_eq!(table([1, 2, 3]), table([300, 600, 900]));
    assert_eq!(table([0, 0, 0]), table([5, 5, 5]));
}

#[test]
fn the_empty_set_selects_nobody() {
    let table = Maglev::build(&[], SIZE, &SEED).expect("valid");
    assert_eq!(table, Maglev::default());
    assert_eq!(table.lookup(u64::MAX), None);
}

#[test]
fn every_hash_has_a_slot() {
    let names = names(13);
    let table = Maglev::build(&members(&names, |_| 1), 13, &SEED).expect("valid");
    let slot = u64::MAX / 13 + 1;
    for (i, member) in table.slots.iter().enumerate() {
        assert_eq!(table.lookup(slot * i as u64), Some(usize::from(*member)));
    }
    assert_eq!(table.lookup(u64::MAX), table.slots.last().map(|m| usize::from(*m)));
}

#[test]
fn what_cannot_be_a_table_is_an_error() {
    let names = names(65_536);
    let all = members(&names, |_| 1);
    let error = |members: &[Member<'_>], size| Maglev::build(members, size, &SEED).err();
    for size in [0, 1, 4, 65_536, 65_537 * 3] {
        assert_eq!(error(&all[..1], size), Some(Error::NotPrime(size)));
    }
    assert_eq!(error(&all, SIZE), Some(Error::TooManyMembers(65_536)));
    assert_eq!(error(&all[..14], 13), Some(Error::TooFewSlots { members: 14, size: 13 }));
    assert_eq!(error(&[all[0], all[0]], 13), Some(Error::DuplicateName(names[0].clone())));
    assert_eq!(error(&all[..65_535], SIZE), None);
}

#[test]
fn equal_sets_share_one_table_for_as_long_as_it_is_held() {
    let names = names(4);
    let mut cache = MaglevCache::default();
    let mut get = |weights: [u32; 4], size| {
        let members = members(&names, |i| weights[i]);
        cache.get(&members, size, &SEED).expect("valid")
    };
    let first = get([1, 1, 1, 1], 1009);
    assert!(Arc::ptr_eq(&first, &get([0, 0, 0, 0], 1009)));
    assert!(!Arc::ptr_eq(&first, &get([1, 1, 1, 2], 1009)));
    assert!(!Arc::ptr_eq(&first, &get([1, 1, 1, 1], 13)));
    assert_eq!(cache.len(), 1);
    drop(first);
    assert!(cache.is_empty());
}
