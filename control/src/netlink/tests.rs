//! The mirror as a table: messages in, the picture and what is asked next out.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use netlink_packet_core::{
    DoneMessage, NLM_F_DUMP_INTR, NLM_F_MULTIPART, NLM_F_REPLACE, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::RouteNetlinkMessage as Inner;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteMessage, RouteNextHop, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};

use super::fact::Neighbour;
use super::keep::{Ask, Keeper};
use super::mirror::{Dump, Message, Mirror, Request};
use super::network::Verdict;

/// Interface 0 is `wr-a`, number 7; 1 is a port without one; 2 is `wr-b`, number 8.
pub(crate) const INTERFACES: [&str; 3] = ["wr-a", "", "wr-b"];
const A: u32 = 7;
const B: u32 = 8;
const MAIN: u8 = 254;

pub(crate) fn link(index: u32, name: &str, up: bool) -> Inner {
    let mut message = LinkMessage::default();
    message.header.index = index;
    let flags = LinkFlags::Up | LinkFlags::LowerUp;
    message.header.flags = if up { flags } else { LinkFlags::Up };
    message.attributes.push(LinkAttribute::IfName(name.into()));
    Inner::NewLink(message)
}

fn address(text: &str) -> IpAddr {
    text.parse().expect(text)
}

/// `prefix` through `hops`: interface, router (none: on link), weight.
pub(crate) fn route(prefix: &str, hops: &[(u32, Option<&str>, u8)], metric: u32) -> RouteMessage {
    let prefix: ipnet::IpNet = prefix.parse().expect(prefix);
    let mut message = RouteMessage::default();
    let header = &mut message.header;
    header.address_family =
        if prefix.addr().is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    header.destination_prefix_length = prefix.prefix_len();
    header.table = MAIN;
    header.kind = RouteType::Unicast;
    let attributes = &mut message.attributes;
    if prefix.prefix_len() > 0 {
        attributes.push(RouteAttribute::Destination(prefix.addr().into()));
    }
    attributes.push(RouteAttribute::Priority(metric));
    let gateway = |via: &str| RouteAttribute::Gateway(RouteAddress::from(address(via)));
    match hops {
        [(interface, via, _)] => {
            attributes.push(RouteAttribute::Oif(*interface));
            attributes.extend(via.map(gateway));
        }
        several => {
            let hop = |(interface, via, weight): &(u32, Option<&str>, u8)| {
                let mut hop = RouteNextHop::default();
                hop.interface_index = *interface;
                hop.hops = weight - 1;
                hop.attributes.extend(via.map(gateway));
                hop
            };
            attributes.push(RouteAttribute::MultiPath(several.iter().map(hop).collect()));
        }
    }
    message
}

pub(crate) fn neighbour(
    interface: u32,
    of: &str,
    state: NeighbourState,
    mac: Option<u8>,
) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.ifindex = interface;
    message.header.state = state;
    message.attributes.push(NeighbourAttribute::Destination(address(of).into()));
    let mac = mac.map(|last| NeighbourAttribute::LinkLayerAddress(vec![2, 0, 0, 0, 0, last]));
    message.attributes.extend(mac);
    message
}

fn rule(priority: u32, table: u8, from: Option<&str>) -> RuleMessage {
    let mut message = RuleMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.table = table;
    message.header.action = RuleAction::ToTable;
    message.attributes.push(RuleAttribute::Priority(priority));
    if let Some(from) = from {
        message.header.src_len = 32;
        message.attributes.push(RuleAttribute::Source(address(from)));
    }
    message
}

/// A message outside a dump.
pub(crate) fn news(inner: Inner) -> Message {
    with(NetlinkPayload::InnerMessage(inner), 0, 0)
}

fn replacing(inner: Inner) -> Message {
    with(NetlinkPayload::InnerMessage(inner), NLM_F_REPLACE, 0)
}

fn with(payload: NetlinkPayload<Inner>, flags: u16, sequence: u32) -> Message {
    let mut header = NetlinkHeader::default();
    header.flags = flags;
    header.sequence_number = sequence;
    NetlinkMessage::new(header, payload)
}

/// Answers a whole dump from `request` on, each step with what of `all` belongs to it; gives back
/// what is asked after it.
pub(crate) fn answer(mirror: &mut Mirror, request: Request, all: &[Inner]) -> Option<Request> {
    answer_with(mirror, request, all, 0)
}

fn answer_with(
    mirror: &mut Mirror,
    mut request: Request,
    all: &[Inner],
    flags: u16,
) -> Option<Request> {
    let mut last = Dump::Links;
    loop {
        let (dump, sequence) = request;
        assert!(last == Dump::Links || dump != Dump::Links, "another dump");
        for inner in all.iter().filter(|inner| belongs(inner, dump)) {
            let payload = NetlinkPayload::InnerMessage(inner.clone());
            assert_eq!(mirror.take(&with(payload, NLM_F_MULTIPART | flags, sequence)), None);
        }
        let done = with(NetlinkPayload::Done(DoneMessage::default()), NLM_F_MULTIPART, sequence);
        let next = mirror.take(&done);
        if dump == Dump::Neighbours {
            return next;
        }
        (last, request) = (dump, next.expect("there are more steps"));
    }
}

fn belongs(inner: &Inner, dump: Dump) -> bool {
    match (inner, dump) {
        (Inner::NewLink(_), Dump::Links) | (Inner::NewRule(_), Dump::Rules) => true,
        (Inner::NewNeighbour(_), Dump::Neighbours) => true,
        (Inner::NewRoute(route), Dump::RoutesV4) => {
            route.header.address_family == AddressFamily::Inet
        }
        (Inner::NewRoute(route), Dump::RoutesV6) => {
            route.header.address_family == AddressFamily::Inet6
        }
        _ => false,
    }
}

/// The next hops' addresses to `to`, each with the last digits of its Ethernet address.
fn told(mirror: &Mirror, to: &str) -> String {
    let Some(network) = mirror.network() else { return "unknown".into() };
    match network.route(address(to)) {
        Verdict::NoRoute => "no route".into(),
        Verdict::Nowhere(length) => format!("nowhere/{length}"),
        Verdict::Through(way) => {
            let step = |step: &super::Step| {
                let mac = step.known.and_then(Neighbour::mac).map_or("?".into(), |m| m.to_string());
                format!(
                    "{}*{}@{}",
                    step.neighbour,
                    step.weight,
                    &mac[mac.len().saturating_sub(2)..]
                )
            };
            way.steps.iter().map(step).collect::<Vec<_>>().join(" ")
        }
    }
}

/// Both links up, connected prefixes, a route through a known gateway, one over both links.
pub(crate) fn usual() -> Vec<Inner> {
    vec![
        link(1, "lo", true),
        link(A, "wr-a", true),
        link(B, "wr-b", true),
        Inner::NewRoute(route("10.0.1.0/24", &[(A, None, 1)], 0)),
        Inner::NewRoute(route("10.0.2.0/24", &[(B, None, 1)], 0)),
        Inner::NewRoute(route("10.1.0.0/16", &[(A, Some("10.0.1.254"), 1)], 0)),
        Inner::NewRoute(route(
            "10.2.0.0/16",
            &[(A, Some("10.0.1.2"), 3), (3, Some("10.0.9.9"), 1), (B, Some("10.0.2.2"), 1)],
            0,
        )),
        Inner::NewNeighbour(neighbour(A, "10.0.1.254", NeighbourState::Reachable, Some(0x54))),
    ]
}

fn mirrored() -> Mirror {
    let mut mirror = Mirror::new(INTERFACES);
    let request = mirror.start();
    assert_eq!(answer(&mut mirror, request, &usual()), None);
    mirror
}

#[test]
fn nothing_is_known_before_the_first_dump_is_complete_and_the_steps_come_in_order() {
    let mut mirror = Mirror::new(INTERFACES);
    assert_eq!(mirror.start(), (Dump::Links, 1));
    let done = |sequence| with(NetlinkPayload::Done(DoneMessage::default()), 2, sequence);
    for (sequence, next) in [
        (1, Some((Dump::Rules, 2))),
        (9, None),
        (2, Some((Dump::RoutesV4, 3))),
        (3, Some((Dump::RoutesV6, 4))),
        (4, Some((Dump::Neighbours, 5))),
    ] {
        assert_eq!(told(&mirror, "10.0.1.1"), "unknown");
        assert_eq!(mirror.take(&done(sequence)), next);
    }
    assert_eq!(mirror.take(&done(5)), None);
    assert_eq!(told(&mirror, "10.0.1.1"), "no route");
}

#[test]
fn news_changes_the_picture_one_message_at_a_time() {
    use NeighbourState as S;
    let to = "10.1.0.1";
    let ecmp = "10.2.0.1";
    let mut mirror = mirrored();
    assert_eq!(told(&mirror, to), "10.0.1.254*1@54");
    assert_eq!(told(&mirror, ecmp), "10.0.1.2*3@? 10.0.2.2*1@?", "one hop is not ours");
    let gateway = |state, mac| Inner::NewNeighbour(neighbour(A, "10.0.1.254", state, mac));
    let other = || route("10.1.0.0/16", &[(B, Some("10.0.2.254"), 1)], 0);
    let narrow = || route("10.1.0.0/24", &[(B, Some("10.0.2.253"), 1)], 0);
    let nowhere = || {
        let mut nowhere = route("10.1.0.0/24", &[(1, None, 1)], 0);
        nowhere.header.kind = RouteType::BlackHole;
        nowhere
    };
    for (message, what, expected) in [
        (news(gateway(S::Stale, Some(0x54))), to, "10.0.1.254*1@54"),
        (news(gateway(S::Reachable, Some(0x55))), to, "10.0.1.254*1@55"),
        (news(gateway(S::Failed, Some(0x55))), to, "10.0.1.254*1@?"),
        (news(gateway(S::Incomplete, None)), to, "10.0.1.254*1@?"),
        (news(gateway(S::Permanent, Some(0x56))), to, "10.0.1.254*1@56"),
        (
            news(Inner::DelNeighbour(neighbour(A, "10.0.1.254", S::Stale, Some(0x56)))),
            to,
            "10.0.1.254*1@?",
        ),
        (
            news(Inner::NewNeighbour(neighbour(3, "10.0.1.254", S::Reachable, Some(0x57)))),
            to,
            "10.0.1.254*1@?",
        ),
        (replacing(Inner::NewRoute(other())), to, "10.0.2.254*1@?"),
        (news(Inner::NewRoute(narrow())), to, "10.0.2.253*1@?"),
        (news(Inner::DelRoute(narrow())), to, "10.0.2.254*1@?"),
        (news(Inner::NewRoute(nowhere())), to, "nowhere/24"),
        (news(Inner::DelRoute(nowhere())), to, "10.0.2.254*1@?"),
        (news(Inner::DelRoute(other())), to, "no route"),
        (
            news(Inner::NewRoute(route("0.0.0.0/0", &[(A, Some("10.0.1.1"), 1)], 20))),
            to,
            "10.0.1.1*1@?",
        ),
        (
            news(Inner::NewRoute(route("0.0.0.0/0", &[(B, Some("10.0.2.1"), 1)], 10))),
            to,
            "10.0.2.1*1@?",
        ),
        (
            news(Inner::NewRoute(route("0.0.0.0/0", &[(3, Some("10.0.9.1"), 1)], 5))),
            to,
            "10.0.2.1*1@?",
        ),
    ] {
        assert_eq!(mirror.take(&message), None, "{message:?}");
        assert_eq!(told(&mirror, what), expected, "{message:?}");
    }
}

#[test]
fn what_the_kernel_does_not_tell_in_full_is_read_anew() {
    let doubtful = [
        ("a link that goes down", news(link(A, "wr-a", false))),
        ("a link that is renamed", news(link(A, "gone", true))),
        (
            "a link that is gone",
            news(Inner::DelLink(LinkMessage::clone(&match link(B, "wr-b", true) {
                Inner::NewLink(link) => link,
                _ => unreachable!("made above"),
            }))),
        ),
        (
            "a second route beside the first",
            news(Inner::NewRoute(route("10.1.0.0/16", &[(B, Some("10.0.2.9"), 1)], 0))),
        ),
        (
            "one of several next hops that goes",
            news(Inner::DelRoute(route("10.2.0.0/16", &[(B, Some("10.0.2.2"), 1)], 0))),
        ),
        (
            "a route of ours that one of another interface replaces",
            replacing(Inner::NewRoute(route("10.1.0.0/16", &[(3, Some("10.0.9.9"), 1)], 0))),
        ),
        ("an overrun that the kernel tells of", with(NetlinkPayload::Overrun(vec![]), 0, 0)),
    ];
    for (what, message) in doubtful {
        let mut mirror = mirrored();
        let (dump, sequence) = mirror.take(&message).unwrap_or_else(|| panic!("{what}: no dump"));
        assert_eq!(dump, Dump::Links, "{what}");
        assert!(sequence > 5, "{what}");
    }
    for (what, message) in [
        ("another link", news(link(3, "eth0", false))),
        ("the same link as it was", news(link(A, "wr-a", true))),
        (
            "a route of another interface in another's place",
            replacing(Inner::NewRoute(route("10.9.0.0/16", &[(3, None, 1)], 0))),
        ),
        (
            "the same route",
            news(Inner::NewRoute(route("10.1.0.0/16", &[(A, Some("10.0.1.254"), 1)], 0))),
        ),
        ("another's route goes", news(Inner::DelRoute(route("10.1.0.0/16", &[(3, None, 1)], 0)))),
    ] {
        let mut mirror = mirrored();
        let version = mirror.version();
        assert_eq!(mirror.take(&message), None, "{what}");
        assert_eq!(mirror.version(), version, "{what}");
        assert_eq!(told(&mirror, "10.1.0.1"), "10.0.1.254*1@54", "{what}");
    }
}

#[test]
fn during_a_dump_the_old_picture_goes_on_and_the_news_is_in_the_new_one() {
    let mut mirror = mirrored();
    let (_, first) = mirror.doubt().expect("a dump");
    let gateway = neighbour(A, "10.0.1.254", NeighbourState::Reachable, Some(0x99));
    assert_eq!(mirror.take(&news(Inner::NewNeighbour(gateway.clone()))), None);
    assert_eq!(told(&mirror, "10.1.0.1"), "10.0.1.254*1@99", "at once");
    let mut now = usual();
    now.pop();
    now.push(Inner::NewNeighbour(gateway));
    now.push(Inner::NewRoute(route("10.3.0.0/16", &[(B, Some("10.0.2.3"), 1)], 0)));
    assert_eq!(answer(&mut mirror, (Dump::Links, first), &now), None);
    assert_eq!(told(&mirror, "10.1.0.1"), "10.0.1.254*1@99");
    assert_eq!(told(&mirror, "10.3.0.1"), "10.0.2.3*1@?");
}

#[test]
fn a_dump_that_was_interrupted_or_overtaken_is_done_again() {
    let mut mirror = Mirror::new(INTERFACES);
    let request = mirror.start();
    let again = answer_with(&mut mirror, request, &usual(), NLM_F_DUMP_INTR);
    assert_eq!(again, Some((Dump::Links, 6)));
    assert_eq!(told(&mirror, "10.1.0.1"), "10.0.1.254*1@54", "better than nothing");
    // A link changes while the dump is on its way: its routes may have gone silently.
    assert_eq!(mirror.take(&news(link(B, "wr-b", false))), None);
    assert_eq!(answer(&mut mirror, (Dump::Links, 6), &usual()), Some((Dump::Links, 11)));
    // And after an overrun nothing of the old dump counts any more.
    let request = mirror.start();
    assert_eq!(request, (Dump::Links, 12));
    let late = with(NetlinkPayload::Done(DoneMessage::default()), 2, 11);
    assert_eq!(mirror.take(&late), None);
    assert_eq!(answer(&mut mirror, request, &usual()), None);
}

#[test]
fn a_hop_without_a_carrier_does_not_count_and_a_route_without_hops_gives_way() {
    let mut all = usual();
    all.push(Inner::NewRoute(route("10.0.0.0/8", &[(B, Some("10.0.2.1"), 1)], 0)));
    all[1] = link(A, "wr-a", false);
    let mut mirror = Mirror::new(INTERFACES);
    let request = mirror.start();
    answer(&mut mirror, request, &all);
    assert_eq!(told(&mirror, "10.2.0.1"), "10.0.2.2*1@?");
    assert_eq!(told(&mirror, "10.1.0.1"), "10.0.2.1*1@?");
}

#[test]
fn only_rules_without_conditions_say_which_tables_count_and_in_which_order() {
    let in_table = |prefix, via, table| {
        let mut route = route(prefix, &[(A, Some(via), 1)], 0);
        route.header.table = table;
        Inner::NewRoute(route)
    };
    let mut all = usual();
    all.extend([
        Inner::NewRule(rule(0, 255, None)),
        Inner::NewRule(rule(100, 7, None)),
        Inner::NewRule(rule(50, 8, Some("192.0.2.1"))),
        Inner::NewRule(rule(32766, 254, None)),
        in_table("10.1.0.0/16", "10.0.1.7", 7),
        in_table("10.1.0.0/24", "10.0.1.8", 8),
        in_table("10.1.0.0/24", "10.0.1.9", 9),
    ]);
    let mut mirror = Mirror::new(INTERFACES);
    let request = mirror.start();
    answer(&mut mirror, request, &all);
    assert_eq!(told(&mirror, "10.1.0.1"), "10.0.1.7*1@?");
    mirror.take(&news(Inner::NewRule(rule(99, 9, None))));
    assert_eq!(told(&mirror, "10.1.0.1"), "10.0.1.9*1@?");
    mirror.take(&news(Inner::DelRule(rule(99, 9, None))));
    mirror.take(&news(Inner::DelRule(rule(100, 7, None))));
    assert_eq!(told(&mirror, "10.1.0.1"), "10.0.1.254*1@54");
}

#[test]
fn next_hops_are_asked_for_once_and_again_while_they_do_not_answer() {
    let whom = |last| (A, IpAddr::from([10, 0, 1, last]));
    let mac = tables::Mac([2, 0, 0, 0, 0, 1]);
    let (fixed, known, stale) =
        (Neighbour::Fixed(mac), Neighbour::Known(mac), Neighbour::Stale(mac));
    let keep = |last| Ask::Keep(whom(last));
    let mut keeper = Keeper::default();
    for (ms, wanted, expected) in [
        (0, vec![(1, None), (2, Some(fixed)), (3, Some(known))], vec![keep(1), keep(3)]),
        (200, vec![(1, Some(Neighbour::Unresolved)), (2, Some(fixed)), (3, Some(known))], vec![]),
        (1000, vec![(1, Some(Neighbour::Unresolved)), (3, Some(stale))], vec![keep(1), keep(3)]),
        (1200, vec![(1, Some(known)), (3, Some(known))], vec![]),
        (9000, vec![(1, Some(known)), (3, None)], vec![keep(3)]),
        (9200, vec![(3, Some(known))], vec![Ask::Release(whom(1))]),
        (9400, vec![(3, Some(known))], vec![]),
    ] {
        let wanted: BTreeMap<_, _> =
            wanted.into_iter().map(|(last, known)| (whom(last), known)).collect();
        let asks = keeper.asks(&wanted, |_| false, Duration::from_millis(ms));
        assert_eq!(asks, expected, "at {ms} ms");
    }
}

#[test]
fn an_entry_that_the_operator_has_fixed_meanwhile_is_never_released() {
    let whom = (A, IpAddr::from([10, 0, 1, 1]));
    let fixed = Some(Neighbour::Fixed(tables::Mac([2, 0, 0, 0, 0, 1])));
    let (used, unused) = (|known| BTreeMap::from([(whom, known)]), BTreeMap::new());
    let at = Duration::from_millis;
    // In use while it is fixed, or fixed and out of use at one moment.
    for while_in_use in [true, false] {
        let mut keeper = Keeper::default();
        assert_eq!(keeper.asks(&used(None), |_| false, at(0)), [Ask::Keep(whom)]);
        if while_in_use {
            assert_eq!(keeper.asks(&used(fixed), |_| true, at(200)), []);
        }
        assert_eq!(keeper.asks(&unused, |_| true, at(400)), []);
        assert_eq!(keeper.asks(&unused, |_| false, at(600)), [], "it was not ours to release");
        assert_eq!(keeper.asks(&used(None), |_| false, at(800)), [Ask::Keep(whom)]);
        assert_eq!(keeper.asks(&unused, |_| false, at(900)), [Ask::Release(whom)]);
    }
}

#[test]
fn only_so_many_next_hops_are_asked_for_at_a_time() {
    let mut keeper = Keeper::default();
    let wanted: BTreeMap<_, _> = (0..1000_u16)
        .map(|n| ((A, IpAddr::from([10, 0, (n >> 8) as u8, n as u8])), None))
        .collect();
    let rounds: Vec<_> = (0..5)
        .map(|round| keeper.asks(&wanted, |_| false, Duration::from_millis(round * 200)).len())
        .collect();
    assert_eq!(rounds, [Keeper::MOST, Keeper::MOST, Keeper::MOST, 1000 - 3 * Keeper::MOST, 0]);
}
