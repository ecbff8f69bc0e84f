//! One route, as the kernel tells of it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteMetric, RouteType, RouteVia,
};

/// The table of the machine's own addresses: nothing there leads to a backend.
const LOCAL: u32 = 255;

/// What tells one route from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The table.
    pub table: u32,
    /// Where it leads.
    pub prefix: IpNet,
    /// Of routes to one prefix, the smallest is used.
    pub priority: u32,
}

/// Where a route leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// Through these, each with its share of the flows.
    Through {
        /// At least one.
        hops: Box<[Hop]>,
        /// The largest IP packet that this way takes, if the route says so.
        mtu: Option<u32>,
    },
    /// Nowhere: blackhole, unreachable, prohibit.
    Nowhere,
    /// The next table is to be asked.
    Elsewhere,
}

/// One way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The interface's number.
    pub interface: u32,
    /// The router; `None`: the destination itself is on link.
    pub via: Option<IpAddr>,
    /// Its share, at least 1.
    pub weight: u16,
}

/// Whether a family is IPv4; `None`: it is neither.
pub(super) fn is_v4(family: AddressFamily) -> Option<bool> {
    match family {
        AddressFamily::Inet => Some(true),
        AddressFamily::Inet6 => Some(false),
        _ => None,
    }
}

/// Reads a route; `None` for those that no backend can be behind, and those that depend on more
/// than the destination.
pub(super) fn read(message: &RouteMessage) -> Option<(Place, Route)> {
    let header = &message.header;
    let v4 = is_v4(header.address_family)?;
    let depends = header.tos != 0 || header.source_prefix_length != 0;
    if depends || header.flags.contains(RouteFlags::Cloned) {
        return None;
    }
    let place = place(message, v4)?;
    let route = match header.kind {
        RouteType::Unicast => through(message)?,
        // Kernels put one at the end of the world; it says no more than that there is no route.
        _ if place.prefix.prefix_len() == 0 => return None,
        RouteType::BlackHole | RouteType::Unreachable | RouteType::Prohibit => Route::Nowhere,
        RouteType::Throw => Route::Elsewhere,
        _ => return None,
    };
    (place.table != LOCAL).then_some((place, route))
}

fn place(message: &RouteMessage, v4: bool) -> Option<Place> {
    let any = if v4 { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let (mut to, mut table, mut priority) = (any, message.header.table.into(), 0);
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(address) => to = ip(address)?,
            RouteAttribute::Table(number) => table = *number,
            RouteAttribute::Priority(number) => priority = *number,
            _ => {}
        }
    }
    let prefix = IpNet::new(to, message.header.destination_prefix_length).ok()?;
    Some(Place { table, prefix, priority })
}

fn through(message: &RouteMessage) -> Option<Route> {
    let attributes = &message.attributes;
    let several = attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::MultiPath(hops) => Some(hops),
        _ => None,
    });
    let hops: Vec<_> = match several {
        Some(hops) => {
            let hop = |hop: &netlink_packet_route::route::RouteNextHop| {
                self::hop(&hop.attributes, Some(hop.interface_index), u16::from(hop.hops) + 1)
            };
            hops.iter().filter_map(hop).collect()
        }
        None => hop(attributes, None, 1).into_iter().collect(),
    };
    (!hops.is_empty()).then(|| Route::Through { hops: hops.into(), mtu: mtu(attributes) })
}

/// `None` where a label or another header would have to go in front.
fn hop(attributes: &[RouteAttribute], interface: Option<u32>, weight: u16) -> Option<Hop> {
    let (mut interface, mut via) = (interface, None);
    for attribute in attributes {
        match attribute {
            RouteAttribute::Oif(index) => interface = Some(*index),
            RouteAttribute::Gateway(address) => via = Some(ip(address)?),
            RouteAttribute::Via(RouteVia::Inet(address)) => via = Some((*address).into()),
            RouteAttribute::Via(RouteVia::Inet6(address)) => via = Some((*address).into()),
            RouteAttribute::Encap(_) => return None,
            _ => {}
        }
    }
    Some(Hop { interface: interface?, via, weight })
}

fn mtu(attributes: &[RouteAttribute]) -> Option<u32> {
    attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Metrics(metrics) => metrics.iter().find_map(|metric| match metric {
            RouteMetric::Mtu(mtu) => Some(*mtu),
            _ => None,
        }),
        _ => None,
    })
}

fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(v4) => Some((*v4).into()),
        RouteAddress::Inet6(v6) => Some((*v6).into()),
        _ => None,
    }
}
