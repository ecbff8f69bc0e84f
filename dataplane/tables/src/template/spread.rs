//! Several next hops for one backend (ECMP): flows are spread over them by their label.
//!
//! A hop's share of the 2^32 labels is a range of them (RFC 2992), as in the kernel: a hop that
//! goes moves its own flows and those beside it, and a look-up is a short search.

use super::Template;

/// The other ways to the same backend, the first one included.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    /// The last label of each way.
    last: Box<[u32]>,
    ways: Box<[Template]>,
}

impl Template {
    /// One template out of several for one backend, which differ by their next hop, and the share
    /// of each. They are to have the same [`Template::max_inner`]. `None` if there is none.
    pub fn spread(ways: Vec<(Self, u16)>) -> Option<Self> {
        let total: u64 = ways.iter().map(|(_, weight)| u64::from(*weight).max(1)).sum();
        let mut sum = 0;
        let mut last_of = |weight: u16| {
            sum += u64::from(weight).max(1);
            // Rounded up, then one less: the last one is the last label.
            ((sum << 32).div_ceil(total) - 1) as u32
        };
        let last: Box<[u32]> = ways.iter().map(|(_, weight)| last_of(*weight)).collect();
        let ways: Box<[Self]> = ways.into_iter().map(|(template, _)| template).collect();
        let first = ways.first()?.clone();
        if ways.len() == 1 {
            return Some(first);
        }
        let spread = Some(Box::new(Spread { last, ways }));
        Some(Self { varies: true, spread, ..first })
    }

    /// The template for a flow of this label: where there is one next hop, this one.
    #[inline]
    pub fn of_flow(&self, label: u32) -> &Self {
        match &self.spread {
            None => self,
            Some(spread) => spread.of_flow(label).unwrap_or(self),
        }
    }
}

impl Spread {
    fn of_flow(&self, label: u32) -> Option<&Template> {
        self.ways.get(self.last.partition_point(|last| *last < label))
    }
}
