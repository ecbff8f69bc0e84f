//! The protocol under loom: every interleaving, and every stale value that the memory model
//! allows, of two workers on a region of two buckets of four lanes.
//!
//! `make model`, or `RUSTFLAGS="--cfg loom" cargo test -p dataplane --lib track::model`
//!
//! What it does not see: more than two workers at once; sequences that wrap; lanes beyond four;
//! more than [`PREEMPTIONS`] forced switches in one execution; a reader's turn between another
//! thread's own reading and writing of one word (see `a_syn_replaces_what_is_read`); and that loom's relaxed stores are
//! not delayed past later ones of other locations as far as hardware may. The stress test covers
//! the first and, on the hardware at hand, the last.

use loom::sync::Arc;
use loom::thread;
use tables::{
    ClassPlan, EarlierKeys, FieldSet, Flow, Lifetime, Plan, Pool, Service, ServiceId, SlotEpochs,
    SlotId, SlotTable, Tables, Tick,
};

use super::entry::Snapshot;
use super::hash::TableKey;
use super::insert::{New, Written, published};
use super::mem::Pages;
use super::region::{About, Found, KeyWords, Position, Region, Touch};
use super::value::{State, Value, View};

const PREEMPTIONS: usize = 3;

fn value(slot: u32) -> Value {
    let slot = SlotId::new(slot).expect("in range");
    Value::new(slot, Lifetime::WhileHealthy, 0)
}

fn key(client: u8) -> [u64; 2] {
    let flow = Flow::v4([10, 0, 0, client], [203, 0, 113, 1], 6, 1, 80);
    <[u64; 2]>::of(&flow.key(FieldSet::FIVE_TUPLE, ServiceId(0)))
}

fn service() -> Service {
    let row = ClassPlan {
        select: FieldSet::FIVE_TUPLE,
        track: Some(FieldSet::FIVE_TUPLE),
        track_before: EarlierKeys::NONE,
        syn_is_new: true,
        lifetime: Lifetime::WhileHealthy,
    };
    let (plan, pool) = (Plan([row; 7]), Pool::default().into());
    Service { name: "web".into(), plan, idle_ticks: 10, idle_floor: None, pool, zonal: [].into() }
}

struct Shared {
    region: Region<2>,
    tables: Tables,
}

impl Shared {
    fn new() -> Self {
        let region = Region::new(1, Pages::Off, TableKey::fixed(1)).expect("two buckets");
        let slots = SlotTable::new((0..4).map(|_| (SlotEpochs::default(), None)));
        let services = [Some(service())].into();
        Self { region, tables: Tables { slots, services, ..Tables::default() } }
    }

    fn new_entry(&self, client: u8, slot: u32, supersede: bool) -> New<2> {
        let key = key(client);
        let hash = self.region.hash(&key);
        New { key, hash, value: value(slot), confirmed: false, supersede }
    }

    fn insert(&self, client: u8, slot: u32, supersede: bool) -> Written {
        self.region.insert(&self.new_entry(client, slot, supersede), self.view(), || true)
    }

    /// Where a client's entry is, and what it says.
    fn entry_of(&self, client: u8) -> (Position, Snapshot<2>) {
        let place = self.region.place(self.region.hash(&key(client)));
        let bucket = self.region.bucket(place.home);
        let lane = bucket.tags.matching(place.tag).trailing_zeros() as usize;
        let seen = bucket.entry(lane).read().expect("quiet");
        (Position { bucket: place.home, lane }, seen)
    }

    /// A SYN of client 1 that has found its entry.
    fn replace(&self, (at, seen): (Position, Snapshot<2>), slot: u32) -> Written {
        let new = New { confirmed: true, ..self.new_entry(1, slot, true) };
        let Ok(entered) = self.region.overwrite(at, &seen, &new, self.view()) else {
            return Written::Contended;
        };
        published();
        self.region.settle(&new, &entered)
    }

    /// Two entries of one burst, behind one fence.
    fn insert_both(&self, clients: [u8; 2], slot: u32) {
        let new = clients.map(|client| self.new_entry(client, slot, false));
        let entered = new.each_ref().map(|new| self.region.enter(new, self.view(), || true));
        published();
        for (new, entered) in new.iter().zip(&entered) {
            self.region.settle(new, entered);
        }
    }

    fn find(&self, client: u8) -> Found {
        let about = About { idle_ticks: 10, touch: Touch::Confirm, packet: 0 };
        let mut probe = [self.region.probe(key(client), about)];
        self.region.find(&mut probe, self.view());
        probe[0].found
    }

    fn view(&self) -> View<'_> {
        View { tables: &self.tables, now: Tick(0) }
    }

    /// A client whose key has the same home as client 1's, so that they compete for a lane.
    fn rival(&self) -> u8 {
        let place = |client| self.region.place(self.region.hash(&key(client)));
        let home = place(1).home;
        (2..=u8::MAX).find(|client| place(*client).home == home).expect("one in two")
    }

    /// Clients whose keys have client 1's own line, and fill it before that comes.
    fn neighbours(&self) -> [u8; 2] {
        let line = |client| {
            let place = self.region.place(self.region.hash(&key(client)));
            (place.home, place.lane / 2)
        };
        let mut others = (2..=u8::MAX).filter(|client| line(*client) == line(1));
        [(); 2].map(|()| others.next().expect("one in four"))
    }

    /// The slots of all entries of a client.
    fn entries(&self, client: u8) -> Vec<u32> {
        let place = self.region.place(self.region.hash(&key(client)));
        let mut slots = Vec::new();
        for bucket in [place.home, place.other] {
            let bucket = self.region.bucket(bucket);
            for lane in super::bucket::lanes(bucket.tags.matching(place.tag)) {
                let seen = bucket.entry(lane).read().expect("quiet");
                if seen.key == key(client) {
                    slots.push(seen.value.slot().get());
                }
            }
        }
        slots
    }
}

fn model(check: impl Fn(Arc<Shared>) + Sync + Send + 'static) {
    model_to(PREEMPTIONS, check);
}

/// To fewer forced switches, where there are too many interleavings.
fn model_to(preemptions: usize, check: impl Fn(Arc<Shared>) + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(move || check(Arc::new(Shared::new())));
}

fn spawn(
    shared: &Arc<Shared>,
    work: impl FnOnce(&Shared) -> Written + 'static,
) -> thread::JoinHandle<Written> {
    let shared = shared.clone();
    thread::spawn(move || work(&shared))
}

/// The old entry is not confirmed, the new one is: a mixture would show. What the writer goes by is
/// read before the reader comes: of each word loom knows its last access only, so that a writer's
/// own read would hide the reader's, and with it most interleavings.
fn a_syn_replaces_what_is_read(shared: &Arc<Shared>) {
    let entry = shared.entry_of(1);
    let writer = spawn(shared, move |s| s.replace(entry, 2));
    match shared.find(1) {
        Found::Hit(v, confirmed) => assert_eq!(v, value(1 + u32::from(confirmed))),
        Found::Contended => {}
        Found::Miss => panic!("the key always has an entry"),
    }
    assert_eq!(writer.join().expect("no panic"), Written::Replaced);
    assert_eq!(shared.entries(1), [2]);
}

#[test]
fn a_reader_never_sees_a_torn_entry_while_a_syn_replaces_it() {
    model(|shared| {
        shared.insert(1, 1, false);
        a_syn_replaces_what_is_read(&shared);
    });
}

#[test]
fn an_entry_behind_the_tags_is_never_torn_either() {
    model(|shared| {
        for client in shared.neighbours() {
            shared.insert(client, 3, false);
        }
        shared.insert(1, 1, false);
        a_syn_replaces_what_is_read(&shared);
    });
}

#[test]
fn a_lane_that_is_reused_never_answers_for_its_old_key() {
    model(|shared| {
        shared.insert(1, 1, false);
        let writer = spawn(&shared, |s| {
            let (at, seen) = s.entry_of(1);
            s.region.kill(at, seen.sequence);
            s.insert(s.rival(), 2, false)
        });
        if let Found::Hit(v, _) = shared.find(1) {
            assert_eq!(v, value(1));
        }
        if let Found::Hit(v, _) = shared.find(shared.rival()) {
            assert_eq!(v, value(2));
        }
        writer.join().expect("no panic");
        assert_eq!((shared.entries(1), shared.entries(shared.rival())), (vec![], vec![2]));
    });
}

#[test]
fn of_two_inserts_of_one_key_exactly_one_stays() {
    model(|shared| {
        let other = spawn(&shared, |s| s.insert(1, 1, false));
        let ours = shared.insert(1, 2, false);
        let theirs = other.join().expect("no panic");
        assert_eq!(shared.entries(1).len(), 1, "{ours:?} {theirs:?}");
    });
}

#[test]
fn of_two_bursts_that_make_the_same_entries_one_of_each_stays() {
    model_to(1, |shared| {
        let rival = shared.rival();
        let other = spawn(&shared, move |s| {
            s.insert_both([rival, 1], 1);
            Written::Created
        });
        shared.insert_both([1, rival], 2);
        other.join().expect("no panic");
        assert_eq!((shared.entries(1).len(), shared.entries(rival).len()), (1, 1));
    });
}

#[test]
fn a_syn_and_an_insert_of_one_key_leave_one_entry() {
    model(|shared| {
        let other = spawn(&shared, |s| s.insert(1, 1, false));
        shared.insert(1, 2, true);
        other.join().expect("no panic");
        assert_eq!(shared.entries(1).len(), 1);
    });
}

#[test]
fn two_keys_never_take_one_lane() {
    model(|shared| {
        let other = spawn(&shared, |s| s.insert(1, 1, false));
        let rival = shared.rival();
        let ours = shared.insert(rival, 2, false);
        let theirs = other.join().expect("no panic");
        let kept = |written| usize::from(written == Written::Created);
        assert_eq!(shared.entries(1).len(), kept(theirs));
        assert_eq!(shared.entries(rival).len(), kept(ours));
    });
}

#[test]
fn what_is_freed_in_the_background_is_never_what_was_just_written() {
    model(|shared| {
        shared.insert(1, 1, false);
        let tidier = spawn(&shared, |s| {
            let late = View { tables: &s.tables, now: Tick(10) };
            let mut freed = 0;
            s.region.for_each(0..2, late, |at, seen, state| {
                freed += u32::from(state == State::Dead && s.region.reclaim(at, seen));
            });
            if freed == 1 { Written::Evicted } else { Written::Contended }
        });
        let late = View { tables: &shared.tables, now: Tick(10) };
        let hash = shared.region.hash(&key(1));
        let (key, value) = (key(1), value(2));
        let new = New { key, hash, value, confirmed: false, supersede: false };
        let written = shared.region.insert(&new, late, || true);
        let freed = tidier.join().expect("no panic");
        let expected: &[u32] = match (written, freed) {
            (Written::Created, _) => &[2],
            (_, Written::Evicted) => &[],
            _ => &[1],
        };
        assert_eq!(shared.entries(1), expected, "{written:?} {freed:?}");
    });
}

#[test]
fn a_refresh_that_comes_first_saves_the_entry_from_being_freed() {
    model(|shared| {
        shared.insert(1, 1, false);
        let (at, dead) = shared.entry_of(1);
        let tidier = spawn(&shared, move |s| match s.region.reclaim(at, &dead) {
            true => Written::Evicted,
            false => Written::Contended,
        });
        let found = shared.find(1);
        let freed = tidier.join().expect("no panic") == Written::Evicted;
        assert_eq!(shared.entries(1).len(), usize::from(!freed), "{found:?}");
    });
}
