//! Bonds over veth pairs, in a network namespace of their own.

#[path = "common/namespace.rs"]
mod namespace;

use std::time::{Duration, Instant};

use arrayvec::ArrayVec;
use dpdk::{
    BondMode, Eal, EalConfig, Mbuf, Mempool, PoolConfig, Port, PortConfig, RxQueue, TxQueue,
};
use namespace::{ip, new_namespace};

struct End {
    port: Port,
    rx: RxQueue,
    tx: TxQueue,
}

/// A bond over two interfaces, whose DPDK names begin at `number`.
fn bond(
    eal: &Eal,
    pool: &Mempool,
    name: &str,
    mode: BondMode,
    number: u32,
    over: [&str; 2],
) -> End {
    let members: Vec<_> = (number..)
        .zip(over)
        .map(|(n, interface)| format!("net_af_packet{n},iface={interface}"))
        .collect();
    let config = PortConfig::default();
    let mut port =
        Port::open_bond(eal, name, mode, &members, pool, &config).unwrap_or_else(|e| panic!("{e}"));
    let (rx, tx) = port.split().remove(0);
    End { port, rx, tx }
}

impl End {
    fn active(&self) -> Vec<bool> {
        self.port.bond().expect("a bond").members.iter().map(|member| member.active).collect()
    }

    fn tended(&self) -> Vec<bool> {
        self.port.tend();
        self.active()
    }

    fn poll(&mut self) -> ArrayVec<Mbuf, 32> {
        let mut burst = ArrayVec::new();
        self.rx.receive(&mut burst, 32);
        self.tx.poll();
        burst
    }
}

/// A frame of a local experiment, for everyone.
fn frame(pool: &Mempool, from: [u8; 6], content: u8) -> Mbuf {
    let mut frame = pool.take().expect("a buffer is free");
    assert!(frame.extend(&[&[0xFF; 6][..], &from, &[0x88, 0xB5], &[content; 46]].concat()));
    frame
}

/// A datagram, of a flow for each content: only such are spread.
fn datagram(pool: &Mempool, from: [u8; 6], content: u8) -> Mbuf {
    let mut frame = pool.take().expect("a buffer is free");
    let ip = [0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let udp = [0x10, content, 0, 7, 0, 26, 0, 0];
    let parts = [&[2, 0, 0, 0, 0, 1][..], &from, &[8, 0], &ip, &udp, &[content; 18]];
    assert!(frame.extend(&parts.concat()));
    frame
}

/// Sends until it arrives, polling both; false if it does not.
fn arrives(pool: &Mempool, from: &mut End, to: &mut End, content: u8) -> bool {
    let mac = from.port.mac().expect("an address");
    until(5, || {
        from.tx.send(&mut ArrayVec::<Mbuf, 1>::from([frame(pool, mac, content)]));
        from.poll();
        to.poll().iter().any(|mbuf| mbuf.bytes().ends_with(&[content; 46]))
    })
}

/// Looks again and again, a bond being polled often enough.
fn until(seconds: u64, mut done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < deadline {
        if done() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

#[test]
#[cfg_attr(no_namespace, ignore = "a network namespace needs root")]
fn one_member_or_all_carry_traffic_until_one_is_cut_and_lacp_finds_its_partner() {
    new_namespace();
    let pairs =
        [("a0", "b0"), ("a1", "b1"), ("c0", "d0"), ("c1", "d1"), ("x0", "y0"), ("x1", "y1")];
    for (a, b) in pairs {
        ip(&format!("link add {a} type veth peer name {b}"));
        ip(&format!("link set {a} up"));
        ip(&format!("link set {b} up"));
    }
    for (f, peer) in [("f0", "g0"), ("f1", "g1")] {
        ip(&format!("link add {f} mtu 1600 type veth peer name {peer}"));
        ip(&format!("link set {peer} mtu 1600 up"));
        ip(&format!("link set {f} up"));
    }
    let eal = Eal::start(&EalConfig { memory: 192, ..EalConfig::default() }).expect("DPDK starts");
    let pool = PoolConfig { buffers: 16_383, ..PoolConfig::default() };
    let pool = Mempool::new(&eal, "bonds", &pool).expect("there is memory");
    active_backup(&eal, &pool);
    lacp(&eal, &pool);
    members_have_the_mtu_of_their_bond(&eal, &pool);
    with_lacp_every_member_has_the_bonds_address(&eal, &pool);
    balance_xor(&eal, &pool);
}

fn shown(interface: &str) -> String {
    let output = std::process::Command::new("ip").args(["link", "show", interface]).output();
    String::from_utf8_lossy(&output.expect("iproute2").stdout).into_owned()
}

/// DPDK gives members the bond's; interfaces of the kernel keep what the operator gave them.
fn members_have_the_mtu_of_their_bond(eal: &Eal, pool: &Mempool) {
    for (mtu, members, theirs) in [
        (1400, ["net_tap2,iface=e0", "net_tap3,iface=e1"], 1400),
        (1600, ["net_af_packet8,iface=f0", "net_af_packet9,iface=f1"], 1600),
        (1400, ["net_af_packet10,iface=g0", "net_af_packet11,iface=g1"], 1600),
    ] {
        let config = PortConfig { mtu, ..PortConfig::default() };
        let (name, over) = (format!("mtu-{theirs}-{mtu}"), members.map(str::to_owned));
        let bond = Port::open_bond(eal, &name, BondMode::BalanceXor, &over, pool, &config)
            .unwrap_or_else(|e| panic!("{e}"));
        for member in bond.bond().expect("a bond").members {
            let interface = member.device.split('=').next_back().expect("a name").to_owned();
            let shown = shown(&interface);
            assert!(shown.contains(&format!("mtu {theirs} ")), "{shown}");
        }
    }
}

/// Cards drop what is for another address, and the other end sends to the bond's on every link.
fn with_lacp_every_member_has_the_bonds_address(eal: &Eal, pool: &Mempool) {
    let members = ["net_tap0,iface=h0", "net_tap1,iface=h1"].map(str::to_owned);
    let config = PortConfig::default();
    let bond = Port::open_bond(eal, "lacp-c", BondMode::Lacp, &members, pool, &config)
        .unwrap_or_else(|e| panic!("{e}"));
    let own = bond.mac().expect("an address").map(|byte| format!("{byte:02x}")).join(":");
    for interface in ["h0", "h1"] {
        assert!(shown(interface).contains(&own), "{own}: {}", shown(interface));
    }
}

fn active_backup(eal: &Eal, pool: &Mempool) {
    let mut here = bond(eal, pool, "here", BondMode::ActiveBackup, 0, ["a0", "a1"]);
    let mut there = bond(eal, pool, "there", BondMode::ActiveBackup, 2, ["b0", "b1"]);
    assert_eq!(here.active(), [true, false]);
    assert!(arrives(pool, &mut here, &mut there, 1));

    ip("link set b0 down");
    assert!(until(5, || here.tended() == [false, true]), "it moves off a cut member");
    assert!(until(5, || there.tended() == [false, true]));
    let state = here.port.bond().expect("a bond");
    let up: Vec<_> = state.members.iter().map(|member| member.up).collect();
    assert_eq!((state.mode, up), (BondMode::ActiveBackup, vec![false, true]));
    assert!(here.port.link().expect("a link").up);
    assert!(arrives(pool, &mut here, &mut there, 2));
    assert!(arrives(pool, &mut there, &mut here, 3));

    ip("link set b0 up");
    assert_eq!(here.tended(), [false, true], "it stays where it is");
    ip("link set b1 down");
    assert!(until(5, || here.tended() == [true, false] && there.tended() == [true, false]));
    assert!(arrives(pool, &mut here, &mut there, 4));
    ip("link set b0 down");
    assert!(until(5, || !here.port.link().expect("a link").up));
}

fn lacp(eal: &Eal, pool: &Mempool) {
    let mut here = bond(eal, pool, "lacp-a", BondMode::Lacp, 4, ["c0", "c1"]);
    let mut there = bond(eal, pool, "lacp-b", BondMode::Lacp, 6, ["d0", "d1"]);
    let agreed = until(20, || {
        here.poll();
        there.poll();
        here.active() == [true, true] && there.active() == [true, true]
    });
    assert!(agreed, "{:?}\n{:?}", here.port.bond(), there.port.bond());
    let partner = there.port.mac().expect("an address");
    for member in here.port.bond().expect("a bond").members {
        assert_eq!(member.partner, Some(partner), "{member:?}");
    }
    assert!(arrives(pool, &mut here, &mut there, 5));
    assert!(arrives(pool, &mut there, &mut here, 6));

    // The other end falls silent: links are up, and nothing else tells. By itself DPDK would take 90 s.
    let noticed = until(20, || {
        here.poll();
        here.active() == [false, false]
    });
    assert!(noticed, "{:?}", here.port.bond());
}

/// Sends `count` flows of one frame; the contents of those that arrive.
fn spread(pool: &Mempool, from: &mut End, to_whom: &mut End, count: u8) -> Vec<u8> {
    let mac = from.port.mac().expect("an address");
    for content in 1..=count {
        let frame = datagram(pool, mac, content);
        assert_eq!(from.tx.send(&mut ArrayVec::<Mbuf, 1>::from([frame])), 1);
    }
    let mut arrived = Vec::new();
    until(5, || {
        arrived.extend(to_whom.poll().iter().filter_map(|mbuf| mbuf.bytes().get(59).copied()));
        arrived.len() >= count.into()
    });
    arrived.sort_unstable();
    arrived
}

/// Frames that have left by an interface. /sys shows another namespace's.
fn carried(interface: &str) -> u64 {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").expect("the kernel's table");
    let line = table.lines().find_map(|line| line.trim().strip_prefix(&format!("{interface}:")));
    let count = line.and_then(|line| line.split_whitespace().nth(9)).expect("the interface");
    count.parse().expect("a number")
}

fn balance_xor(eal: &Eal, pool: &Mempool) {
    let mut here = bond(eal, pool, "xor-a", BondMode::BalanceXor, 12, ["x0", "x1"]);
    let mut there = bond(eal, pool, "xor-b", BondMode::BalanceXor, 14, ["y0", "y1"]);
    let all: Vec<u8> = (1..=32).collect();
    let before = [carried("x0"), carried("x1")];
    assert_eq!(spread(pool, &mut here, &mut there, 32), all);
    let each = [carried("x0") - before[0], carried("x1") - before[1]];
    assert!(each[0] > 4 && each[1] > 4, "both carry some: {each:?}");
    assert_eq!(spread(pool, &mut there, &mut here, 32), all);

    ip("link set y1 down");
    assert!(until(5, || here.tended() == [true, false] && there.tended() == [true, false]));
    assert_eq!(spread(pool, &mut here, &mut there, 32), all, "nothing is given to the dead one");
    assert_eq!(spread(pool, &mut there, &mut here, 32), all);

    ip("link set y1 up");
    assert!(until(5, || here.tended() == [true, true] && there.tended() == [true, true]));
    let before = carried("x1");
    assert_eq!(spread(pool, &mut here, &mut there, 32), all);
    assert!(carried("x1") > before, "it has its share again");
}
