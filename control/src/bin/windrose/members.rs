//! The members of a bond: how status tells of them, and what has changed since the last look.

use control::admin::answer::{BondMember, BondStatus};
use dpdk::{BondMode, BondState, MemberState};
use tables::Mac;

/// A bond, as status has it.
pub(crate) fn told(bond: &BondState) -> BondStatus {
    let mode = match bond.mode {
        BondMode::Lacp => "lacp",
        BondMode::ActiveBackup => "active-backup",
        BondMode::BalanceXor => "balance-xor",
    };
    BondStatus { mode: mode.to_owned(), members: bond.members.iter().map(member).collect() }
}

fn member(member: &MemberState) -> BondMember {
    BondMember {
        device: member.device.clone(),
        up: member.up,
        active: member.active,
        partner: member.partner.map(|mac| Mac(mac).to_string()),
    }
}

/// A member that is otherwise than it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    now: MemberState,
    worse: bool,
}

/// One for each member that is otherwise; at the first look for those whose link is down.
pub(crate) fn changes(before: Option<&BondState>, now: &BondState) -> impl Iterator<Item = Change> {
    let was = |place: usize, now: &MemberState| {
        let was = before.and_then(|bond| bond.members.get(place));
        was.cloned().unwrap_or_else(|| MemberState { up: true, ..now.clone() })
    };
    let change = move |(place, now): (usize, &MemberState)| {
        let was = was(place, now);
        let worse = was.up && !now.up || was.active && !now.active && now.up;
        (was != *now).then(|| Change { now: now.clone(), worse })
    };
    now.members.iter().enumerate().filter_map(change).collect::<Vec<_>>().into_iter()
}

/// Whether another member than before is the only one that carries traffic: the segment still sends
/// to the old one. Where several do the other end knows by itself.
pub(crate) fn has_moved(before: &BondState, now: &BondState) -> bool {
    let active = |bond: &BondState| bond.members.iter().position(|member| member.active);
    now.mode == BondMode::ActiveBackup && active(now).is_some() && active(before) != active(now)
}

impl Change {
    pub(crate) fn log(&self, port: &str) {
        let BondMember { device, up, active, partner } = member(&self.now);
        let (link, partner) = (if up { "up" } else { "down" }, partner.as_deref());
        macro_rules! say {
            ($level:ident) => {
                tracing::$level!(
                    port,
                    member = %device,
                    link,
                    carries_traffic = active,
                    partner,
                    "bond member changed"
                )
            };
        }
        if self.worse { say!(warn) } else { say!(info) }
    }
}

#[cfg(test)]
mod tests {
    use control::admin::words;

    use super::*;

    fn bond(mode: BondMode, members: &[(bool, bool)]) -> BondState {
        let member = |(place, (up, active)): (usize, &(bool, bool))| MemberState {
            device: format!("net_null{place}"),
            up: *up,
            active: *active,
            partner: None,
        };
        BondState { mode, members: members.iter().enumerate().map(member).collect() }
    }

    fn said(before: Option<&BondState>, now: &BondState) -> Vec<(String, bool)> {
        changes(before, now).map(|c| (words::member(&member(&c.now)), c.worse)).collect()
    }

    #[test]
    fn each_member_that_changes_is_told_once() {
        let well = bond(BondMode::ActiveBackup, &[(true, true), (true, false)]);
        let cut = bond(BondMode::ActiveBackup, &[(false, false), (true, true)]);
        assert_eq!(said(None, &well), []);
        assert_eq!(said(Some(&well), &well), []);
        let gone = ("net_null0: link DOWN".to_owned(), true);
        let taken = ("net_null1: link up, carries traffic".to_owned(), false);
        assert_eq!(said(Some(&well), &cut), [gone.clone(), taken]);
        assert_eq!(said(None, &cut), [gone], "at the start what is amiss");
        let silent = bond(BondMode::Lacp, &[(true, false), (true, false)]);
        assert_eq!(said(Some(&well), &silent), [("net_null0: link up".to_owned(), true)]);
    }

    #[test]
    fn the_segment_is_told_of_another_only_member() {
        use BondMode::{ActiveBackup, Lacp};
        let first = |mode| bond(mode, &[(true, true), (true, false)]);
        let second = |mode| bond(mode, &[(true, false), (true, true)]);
        let none = |mode| bond(mode, &[(false, false), (false, false)]);
        for (mode, before, now, moved) in [
            (ActiveBackup, first(ActiveBackup), second(ActiveBackup), true),
            (ActiveBackup, first(ActiveBackup), first(ActiveBackup), false),
            (ActiveBackup, first(ActiveBackup), none(ActiveBackup), false),
            (ActiveBackup, none(ActiveBackup), second(ActiveBackup), true),
            (Lacp, first(Lacp), second(Lacp), false),
        ] {
            assert_eq!(has_moved(&before, &now), moved, "{mode:?}: {before:?} {now:?}");
        }
    }
}
