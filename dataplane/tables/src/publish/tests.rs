use super::*;
use std::sync::Weak;

/// A publisher that keeps two retired values, and a way to see which values are alive.
struct Case {
    publisher: Publisher<u32>,
    values: Vec<Weak<u32>>,
}

impl Case {
    fn new() -> Self {
        let first = Arc::new(0);
        let values = vec![Arc::downgrade(&first)];
        Self { publisher: Publisher::new(first, 2), values }
    }

    fn publish(&mut self) -> Result<(), Refused<u32>> {
        let next = Arc::new(self.values.len() as u32);
        let weak = Arc::downgrade(&next);
        self.publisher.try_publish(next)?;
        self.values.push(weak);
        Ok(())
    }

    fn alive(&self) -> Vec<u32> {
        self.values.iter().filter_map(Weak::upgrade).map(|value| *value).collect()
    }
}

#[test]
fn a_reader_sees_each_value_from_its_next_burst_on() {
    let mut case = Case::new();
    let mut reader = case.publisher.reader("worker 0");
    assert_eq!(*reader.current(), 0);
    case.publish().expect("room");
    assert_eq!(*reader.current(), 1);
    assert_eq!(*reader.current(), 1);
    assert_eq!(*case.publisher.current(), 1);
}

#[test]
fn a_value_is_freed_when_every_reader_has_moved_on() {
    let mut case = Case::new();
    let (mut a, mut b) = (case.publisher.reader("a"), case.publisher.reader("b"));
    a.current();
    b.current();
    case.publish().expect("room");
    assert_eq!((case.publisher.collect(), case.alive()), (1, vec![0, 1]));
    a.current();
    assert_eq!((case.publisher.collect(), case.alive()), (1, vec![0, 1]));
    b.current();
    assert_eq!((case.publisher.collect(), case.alive()), (0, vec![1]));
}

#[test]
fn an_offline_or_dropped_reader_holds_nothing_back() {
    let mut case = Case::new();
    let (mut sleeper, mut dropped) = (case.publisher.reader("a"), case.publisher.reader("b"));
    let new = case.publisher.reader("has never read");
    sleeper.current();
    dropped.current();
    sleeper.offline();
    drop(dropped);
    case.publish().expect("room");
    assert_eq!(case.alive(), [1]);
    assert_eq!(*sleeper.current(), 1);
    drop(new);
}

#[test]
fn too_many_retired_values_are_refused_and_the_laggard_is_named() {
    let mut case = Case::new();
    let (mut slow, mut quick) = (case.publisher.reader("slow"), case.publisher.reader("quick"));
    slow.current();
    for _ in 0..2 {
        case.publish().expect("room");
        quick.current();
    }
    let refused = case.publish().expect_err("two are retired");
    assert_eq!((*refused.value, refused.lagging.join(",").as_str()), (3, "slow"));
    assert_eq!(refused.to_string(), "slow still use retired tables");
    let patience = Duration::from_millis(1);
    assert!(case.publisher.publish_within(3, patience).is_err());
    assert_eq!((*quick.current(), *slow.current()), (2, 2));
    case.publish().expect("room again");
    assert_eq!(case.alive(), [2, 3]);
}

#[test]
fn who_holds_the_oldest_value_is_named_until_it_moves_on() {
    let mut case = Case::new();
    let (mut slow, mut quick) = (case.publisher.reader("slow"), case.publisher.reader("quick"));
    let held = |case: &Case| {
        case.publisher.collect();
        let held = case.publisher.held_back();
        held.map(|held| (held.publication, held.readers.join(",")))
    };
    slow.current();
    quick.current();
    assert_eq!(held(&case), None);
    case.publish().expect("room");
    assert_eq!(held(&case), Some((2, "slow,quick".into())));
    quick.current();
    case.publish().expect("room");
    assert_eq!(held(&case), Some((2, "slow".into())), "though quick is behind once more");
    slow.current();
    assert_eq!(held(&case), Some((3, "quick".into())));
    quick.offline();
    assert_eq!(held(&case), None);
}

#[test]
fn a_reader_outlives_its_publisher() {
    let mut case = Case::new();
    let mut reader = case.publisher.reader("worker 0");
    reader.current();
    case.publish().expect("room");
    let Case { publisher, values } = case;
    drop(publisher);
    assert_eq!(*reader.current(), 1);
    drop(reader);
    assert!(values.iter().all(|value| value.upgrade().is_none()));
}
