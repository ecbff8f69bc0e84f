//! The connection table, for whoever lists it or wants its figures.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use control::admin::picture::{Census, Connections, Entry, Wanted};
use dataplane::track::{self, ConnectionTable, Cursor, EntryView, Filter};
use tables::{ServiceId, SlotId, Tables, Tick};

/// The table, walked through at a pace that workers do not notice.
pub(crate) struct Listing(pub Arc<ConnectionTable>);

impl Listing {
    /// Buckets at a time: about a millisecond,
    const SLICE: usize = 1_024;
    /// and then a pause. The table of a million entries takes a third of a second.
    const PAUSE: Duration = Duration::from_millis(8);
}

impl Connections for Listing {
    fn walk(
        &self,
        wanted: &Wanted,
        view: (&Tables, Tick),
        visit: &mut dyn FnMut(&Entry) -> ControlFlow<()>,
    ) {
        let filter = Filter { service: wanted.service, slot: wanted.slot, clients: wanted.clients };
        let (mut at, mut flow) = (Cursor::default(), ControlFlow::Continue(()));
        loop {
            let next = self.0.walk(at, Self::SLICE, &filter, view, |seen| {
                let entry = entry(&seen);
                if flow.is_continue() && has_vip(&entry, wanted) {
                    flow = visit(&entry);
                }
            });
            match next {
                Some(next) if flow.is_continue() => at = next,
                _ => return,
            }
            std::thread::sleep(Self::PAUSE);
        }
    }
}

fn entry(seen: &EntryView) -> Entry {
    let EntryView { key, value, last_seen, confirmed } = *seen;
    Entry { key, slot: value.slot(), last_seen, confirmed }
}

fn has_vip(entry: &Entry, wanted: &Wanted) -> bool {
    wanted.vips.is_none_or(|prefix| entry.vip().is_some_and(|vip| prefix.contains(&vip)))
}

/// What a round counted.
pub(crate) struct Counted(pub track::Census);

impl Census for Counted {
    fn totals(&self) -> (u64, u64, u64) {
        (self.0.v4, self.0.v6, self.0.confirmed)
    }

    fn of_service(&self, service: ServiceId) -> u64 {
        self.0.of_service(service)
    }

    fn of_slot(&self, slot: SlotId) -> u64 {
        self.0.of_slot(slot)
    }

    fn began(&self) -> Tick {
        self.0.began
    }
}
