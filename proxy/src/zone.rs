//! Zonal failover of proxy services.

/// How healthy a zone is: backends, not connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zone {
    /// Its healthy backends, at most `all`.
    pub healthy: u32,
    /// All its backends.
    pub all: u32,
}

/// An exact share of a zone's connections, 0 to 1.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    part: u64,
    /// Not zero, not below `part`.
    whole: u64,
}

impl Share {
    /// Everything.
    pub const ALL: Self = Self { part: 1, whole: 1 };

    /// Nothing.
    pub const NONE: Self = Self { part: 0, whole: 1 };

    /// Whether `hash`, taken as a fraction of 2^64, falls within the share: over uniform hashes
    /// it holds for exactly this share of them, and a growing share keeps whom it had.
    pub fn covers(self, hash: u64) -> bool {
        u128::from(hash) * u128::from(self.whole) < u128::from(self.part) << 64
    }
}

impl PartialEq for Share {
    fn eq(&self, other: &Self) -> bool {
        let cross = |a: &Self, b: &Self| u128::from(a.part) * u128::from(b.whole);
        cross(self, other) == cross(other, self)
    }
}

impl Zone {
    /// Whether its traffic starts to move to other zones: fewer than 70 % of its backends
    /// are healthy; exactly 70 % does not. A zone without backends has nothing to keep it.
    pub fn spills(self) -> bool {
        self.all == 0 || u64::from(self.healthy) * 10 < u64::from(self.all) * 7
    }

    /// The share of its clients' connections that it keeps while there is a zone to take the
    /// rest: min(1, (healthy ÷ all) ÷ 0.7), exactly.
    pub fn share(self) -> Share {
        match (self.spills(), self.all) {
            (false, _) => Share::ALL,
            (true, 0) => Share::NONE,
            (true, all) => Share { part: u64::from(self.healthy) * 10, whole: u64::from(all) * 7 },
        }
    }
}

/// What becomes of one zone's connections.
#[derive(Clone, Debug, PartialEq)]
pub struct ZonePlan {
    /// Whether some of them move.
    pub spills: bool,
    /// What stays. All of it, where nobody else could take the rest.
    pub keeps: Share,
    /// The zones that the rest may go to, as indices: every other one with a healthy backend,
    /// be it spilling itself. Empty while nothing moves.
    pub targets: Vec<usize>,
}

/// What becomes of every zone's connections, in the order of `zones`, or `None`: there is no
/// healthy backend anywhere, so clients' connections are closed at once.
pub fn plan(zones: &[Zone]) -> Option<Vec<ZonePlan>> {
    let alive = zones.iter().any(|zone| zone.healthy > 0);
    alive.then(|| (0..zones.len()).map(|index| zone_plan(zones, index)).collect())
}

fn zone_plan(zones: &[Zone], index: usize) -> ZonePlan {
    let zone = zones[index];
    if !zone.spills() {
        return ZonePlan { spills: false, keeps: Share::ALL, targets: Vec::new() };
    }
    let takes = |other: &usize| *other != index && zones[*other].healthy > 0;
    let targets: Vec<_> = (0..zones.len()).filter(takes).collect();
    let keeps = if targets.is_empty() { Share::ALL } else { zone.share() };
    ZonePlan { spills: true, keeps, targets }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn zone(healthy: u32, all: u32) -> Zone {
        Zone { healthy, all }
    }

    fn share(part: u64, whole: u64) -> Share {
        Share { part, whole }
    }

    #[test]
    fn exactly_seventy_percent_does_not_spill() {
        for (healthy, all) in [(7, 10), (70, 100), (14, 20), (1, 1), (u32::MAX, u32::MAX)] {
            assert!(!zone(healthy, all).spills(), "{healthy}/{all}");
            assert_eq!(zone(healthy, all).share(), Share::ALL, "{healthy}/{all}");
        }
        for (healthy, all) in [(6, 10), (69, 100), (2, 3), (699_999, 1_000_000), (0, 1)] {
            assert!(zone(healthy, all).spills(), "{healthy}/{all}");
        }
    }

    #[test]
    fn a_zone_keeps_its_health_over_seventy_percent() {
        assert_eq!(zone(35, 100).share(), share(1, 2));
        assert_eq!(zone(1, 4).share(), share(5, 14));
        assert_eq!(zone(69, 100).share(), share(69, 70));
        assert_eq!(zone(0, 4).share(), Share::NONE);
        assert_eq!(zone(0, 0).share(), Share::NONE);
        assert_ne!(zone(1, 4).share(), share(5, 13));
    }

    #[test]
    fn a_share_covers_its_part_of_the_hashes_from_below() {
        let half = zone(35, 100).share();
        assert!(half.covers(0) && half.covers((1 << 63) - 1));
        assert!(!half.covers(1 << 63) && !half.covers(u64::MAX));
        assert!(Share::ALL.covers(u64::MAX));
        assert!(!Share::NONE.covers(0));
    }

    #[test]
    fn without_another_zone_to_take_it_everything_stays() {
        let plans = plan(&[zone(1, 4), zone(0, 4)]).expect("somebody is healthy");
        assert_eq!(plans[0], ZonePlan { spills: true, keeps: Share::ALL, targets: vec![] });
        assert_eq!(plans[1], ZonePlan { spills: true, keeps: Share::NONE, targets: vec![0] });
    }

    #[test]
    fn with_no_healthy_backend_anywhere_there_is_no_plan() {
        assert_eq!(plan(&[zone(0, 4), zone(0, 0)]), None);
        assert_eq!(plan(&[]), None);
    }

    #[test]
    fn a_zone_above_the_threshold_moves_nothing_and_a_dead_one_everything() {
        let plans = plan(&[zone(7, 10), zone(0, 2), zone(1, 9)]).expect("somebody is healthy");
        assert_eq!(plans[0], ZonePlan { spills: false, keeps: Share::ALL, targets: vec![] });
        assert_eq!(plans[1], ZonePlan { spills: true, keeps: Share::NONE, targets: vec![0, 2] });
        assert_eq!(plans[2], ZonePlan { spills: true, keeps: share(10, 63), targets: vec![0] });
    }
}
