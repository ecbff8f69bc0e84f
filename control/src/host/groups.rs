//! The multicast groups of VIPs: a switch that snoops passes a question only to who has joined.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv6Addr, UdpSocket};

use super::announce::solicited_node;

/// Memberships of an interface, kept by sockets that receive nothing. The kernel reports them
/// (MLD); the questions themselves come in by the port, whatever was joined.
#[derive(Debug, Default)]
pub(super) struct Groups {
    interface: u32,
    /// The memory of each is bounded, and so is its number of groups.
    sockets: Vec<UdpSocket>,
    /// Each group and the place of its socket.
    joined: BTreeMap<Ipv6Addr, usize>,
}

impl Groups {
    /// On the interface of this index.
    pub(super) fn on(interface: u32) -> Self {
        Self { interface, ..Self::default() }
    }

    /// Is in the groups of these VIPs, and in no others. Where the kernel refuses (no IPv6, say)
    /// segments without snooping switches still work.
    pub(super) fn set(&mut self, vips: &BTreeSet<IpAddr>) {
        let six = vips.iter().filter_map(|vip| match vip {
            IpAddr::V6(vip) => Some(solicited_node(*vip)),
            IpAddr::V4(_) => None,
        });
        let wanted: BTreeSet<_> = six.collect();
        self.leave(&wanted);
        for group in wanted {
            if !self.joined.contains_key(&group)
                && let Err(error) = self.join(group)
            {
                return tracing::debug!("joining {group}: {error}");
            }
        }
    }

    fn leave(&mut self, wanted: &BTreeSet<Ipv6Addr>) {
        let (sockets, interface) = (&self.sockets, self.interface);
        self.joined.retain(|group, place| {
            let stays = wanted.contains(group);
            if !stays {
                // What cannot be left ends with its socket.
                let _ = sockets[*place].leave_multicast_v6(group, interface);
            }
            stays
        });
    }

    fn join(&mut self, group: Ipv6Addr) -> io::Result<()> {
        let last = self.sockets.last().map(|s| s.join_multicast_v6(&group, self.interface));
        if !matches!(last, Some(Ok(()))) {
            let socket = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0))?;
            socket.join_multicast_v6(&group, self.interface)?;
            self.sockets.push(socket);
        }
        self.joined.insert(group, self.sockets.len() - 1);
        Ok(())
    }
}
