//! What the ports themselves report: whether their links are up, and what they lost before a
//! worker saw it.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter, Result};
use std::sync::Arc;

use control::admin::picture::Link;
use control::admin::words;
use dpdk::{BondState, Port, PortStats};

use crate::members::{self, told};

/// The devices, watched.
pub(crate) struct Watch(Vec<Watched>);

struct Watched {
    /// The place and the name in the file of each of its ports.
    ports: Vec<(usize, Arc<str>)>,
    device: Port,
    /// `None`: not asked yet.
    up: Option<bool>,
    /// As it was at the last look.
    bond: Option<BondState>,
    replaced: bool,
}

/// What a look has found of one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The place of the port in the file.
    pub port: usize,
    /// Whether its link is up.
    pub up: bool,
    /// Whether its segment has to be told of us again.
    pub again: bool,
}

impl Watch {
    /// Watches devices by their ports.
    pub(crate) fn new(devices: impl IntoIterator<Item = (Vec<(usize, Arc<str>)>, Port)>) -> Self {
        let watched =
            |(ports, device)| Watched { ports, device, up: None, bond: None, replaced: false };
        Self(devices.into_iter().map(watched).collect())
    }

    /// Whether each port's link is up now, in the order of the file.
    pub(crate) fn are_up(&self) -> Vec<bool> {
        let up: BTreeMap<_, _> = self.0.iter().flat_map(Watched::are_up).collect();
        up.into_values().collect()
    }

    /// Logs every link that has come up or gone down since the last look, leads bonds around dead
    /// members, and says how each port is.
    pub(crate) fn look(&mut self) -> Vec<Seen> {
        self.0.iter_mut().flat_map(Watched::look).collect()
    }

    /// What every port reports now, in the order of the file. What a device lost that is several
    /// ports is told of the first.
    pub(crate) fn links(&self) -> Vec<Link> {
        let mut links: Vec<_> = self.0.iter().flat_map(Watched::links).collect();
        links.sort_by_key(|(place, _)| *place);
        links.into_iter().map(|(_, link)| link).collect()
    }

    /// The bonds, for a person.
    pub(crate) fn bonds(&self) -> String {
        let bond = |w: &Watched| Some(words::bond(&w.name(), &told(&w.device.bond()?)));
        self.0.iter().filter_map(bond).collect()
    }
}

impl Watched {
    fn is_up(&self) -> bool {
        self.device.link().is_ok_and(|link| link.up)
    }

    fn are_up(&self) -> impl Iterator<Item = (usize, bool)> {
        let up = self.is_up();
        self.ports.iter().map(move |(place, _)| (*place, up))
    }

    /// Leads a bond's traffic around a dead member, and says how its ports are.
    fn look(&mut self) -> impl Iterator<Item = Seen> {
        self.device.tend();
        self.look_whether_it_is_replaced();
        let (moved, up) = (self.look_at_members(), self.is_up());
        let again = self.turns(up) || moved;
        self.ports.iter().map(move |(port, _)| Seen { port: *port, up, again })
    }

    /// Logs a link that is another one than before; whether it has come up.
    fn turns(&mut self, up: bool) -> bool {
        let before = self.up.replace(up);
        if before == Some(up) || before.is_none() && up {
            return false;
        }
        say(&self.name(), self.device.device(), before, up);
        up
    }

    /// Nothing but a start opens another interface.
    fn look_whether_it_is_replaced(&mut self) {
        let replaced = self.device.is_replaced();
        if !std::mem::replace(&mut self.replaced, replaced) && replaced {
            let (port, device) = (self.name(), self.device.device());
            let reason =
                "its interface was removed, and another one has the name: restart windrose";
            tracing::error!(port, device, reason, "nothing arrives");
        }
    }

    /// Whether another member than before is the one that the segment has to send to.
    fn look_at_members(&mut self) -> bool {
        let Some(now) = self.device.bond() else { return false };
        let port = self.name();
        let before = self.bond.replace(now.clone());
        members::changes(before.as_ref(), &now).for_each(|change| change.log(&port));
        before.is_some_and(|before| members::has_moved(&before, &now))
    }

    fn links(&self) -> Vec<(usize, Link)> {
        let bond = self.device.bond().map(|bond| told(&bond));
        let mut lost = losses(&self.device.stats().unwrap_or_default()).to_vec();
        let link = |(place, _): &(usize, _)| {
            let (losses, bond) = (std::mem::take(&mut lost), bond.clone());
            (*place, Link { up: self.up, losses, bond })
        };
        self.ports.iter().map(link).collect()
    }

    fn name(&self) -> String {
        let names: Vec<_> = self.ports.iter().map(|(_, name)| &**name).collect();
        names.join("+")
    }
}

/// A link has come up or gone down.
fn say(port: &str, device: &str, before: Option<bool>, up: bool) {
    let (from, to) = (before.map_or("unknown", link), link(up));
    if up {
        tracing::info!(port, device, from, to, "link is up");
    } else {
        tracing::warn!(port, device, from, to, "link is down: nothing arrives");
    }
}

/// In the log.
fn link(up: bool) -> &'static str {
    if up { "up" } else { "down" }
}

/// One line for each kind of loss that there was.
impl Display for Watch {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for watched in &self.0 {
            let stats = watched.device.stats().unwrap_or_default();
            for (what, count) in losses(&stats).into_iter().filter(|(_, count)| *count > 0) {
                writeln!(f, "  {:<24} {count:>12}", format!("{}: {what}", watched.name()))?;
            }
        }
        Ok(())
    }
}

fn losses(stats: &PortStats) -> [(&'static str, u64); 4] {
    [
        ("rx_missed", stats.missed),
        ("rx_errors", stats.receive_errors),
        ("rx_no_buffer", stats.no_buffer),
        ("tx_errors", stats.send_errors),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logging::lines;

    #[test]
    fn a_link_is_said_with_its_port_its_device_and_what_it_was() {
        let said = lines(|| {
            say("uplink", "0000:03:00.0", None, false);
            say("uplink", "0000:03:00.0", Some(false), true);
        });
        let expected = "
 WARN link is down: nothing arrives port=\"uplink\" device=\"0000:03:00.0\" from=\"unknown\" to=\"down\"
 INFO link is up port=\"uplink\" device=\"0000:03:00.0\" from=\"down\" to=\"up\"
";
        assert_eq!(said, expected.trim_start_matches('\n'));
    }
}
