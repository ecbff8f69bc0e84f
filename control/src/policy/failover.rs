//! The failover switch: the eligible set goes from primary to failover backends, or back
//! (T-10, T-14, T-17).

use crate::model::{FailoverPolicy, Role};

/// Watches one service's eligible set, before the zonal step (T-17), over all its changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchDetector {
    last: Option<Role>,
}

impl SwitchDetector {
    /// Takes the pool of a new eligible set ([`super::eligible::Eligible::pool`]) and says
    /// whether this is a switch. An empty set is none, and is not remembered: primary, empty,
    /// failover is a switch when failover begins (T-14). Nor is the first set one.
    pub fn observe(&mut self, pool: Option<Role>) -> bool {
        let Some(pool) = pool else { return false };
        self.last.replace(pool).is_some_and(|last| last != pool)
    }
}

/// Whether a switch ends all of the service's entries (T-10): it has a failover group, and
/// connection draining on failover is off.
pub fn switch_ends_entries(policy: Option<FailoverPolicy>) -> bool {
    policy.is_some_and(|p| !p.connection_draining_on_failover)
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: Option<Role> = Some(Role::Primary);
    const F: Option<Role> = Some(Role::Failover);

    fn switches(pools: &[Option<Role>]) -> Vec<bool> {
        let mut detector = SwitchDetector::default();
        pools.iter().map(|pool| detector.observe(*pool)).collect()
    }

    #[test]
    fn a_switch_counts_in_both_directions() {
        assert_eq!(switches(&[P, F, P]), [false, true, true]);
        assert_eq!(switches(&[F, F, P, P]), [false, false, true, false]);
    }

    #[test]
    fn a_switch_counts_when_the_set_was_empty_in_between() {
        assert_eq!(
            switches(&[P, None, F, None, None, P]),
            [false, false, true, false, false, true]
        );
    }

    #[test]
    fn coming_back_from_empty_to_the_same_pool_is_no_switch() {
        assert_eq!(switches(&[None, P, None, P]), [false; 4]);
        assert_eq!(switches(&[F, None, F]), [false; 3]);
    }

    #[test]
    fn a_switch_ends_entries_only_with_draining_off() {
        let policy = |connection_draining_on_failover| FailoverPolicy {
            connection_draining_on_failover,
            ..FailoverPolicy::default()
        };
        assert!(switch_ends_entries(Some(policy(false))));
        assert!(!switch_ends_entries(Some(policy(true))));
        assert!(!switch_ends_entries(None));
    }
}
