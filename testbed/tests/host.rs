//! What is not for a rule: the host interface, closed ports, frames for others (F-4, D-11).

use std::io::{Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use etherparse::{ArpEthIpv4Packet, ArpOperation, Icmpv6Type, PacketBuilder};
use rustix::process::Signal;
use testbed::Result;
use testbed::address::{CLIENT, FRONT, Family, RETURN, vip, vips};
use testbed::appliance::{Appliance, Counters};
use testbed::client::{ask, noise, refused};
use testbed::config::Config;
use testbed::topology::{Arms, Topology};
use testbed::tun;

fn count(counters: &Counters, outcome: &str) -> u64 {
    counters.get(outcome).copied().unwrap_or(0)
}

#[test]
fn the_host_answers_arp_neighbour_discovery_and_ping_for_the_ports_addresses() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let mut appliance = Appliance::start(&topology, &Config::new(&topology))?;
    let mac = topology.appliance.mac("lb0")?;
    for address in FRONT {
        let ping = topology.client.run(&format!("ping -n -c 3 -i 0.2 -W 2 {address}"))?;
        assert!(ping.contains(" 0% packet loss"), "{ping}");
        assert!(!ping.contains("DUP"), "the kernel under the port answers too: {ping}");
        let neighbour = topology.client.ip(&format!("neighbour show {address} dev front0"))?;
        assert!(neighbour.contains(&mac), "{neighbour} is not {mac}");
    }
    assert!(count(&appliance.counters()?, "host") >= 8, "two resolutions and six pings");
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_host_off_link_is_answered_when_the_kernel_has_a_route_for_it_as_documented() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let appliance = Appliance::start(&topology, &Config::new(&topology))?;
    for family in Family::BOTH {
        let [own, router, from] = [FRONT, CLIENT, RETURN].map(|pair| pair[family as usize]);
        let ping = || topology.client.run(&format!("ping -n -c 2 -i 0.2 -W 1 -I {from} {own}"));
        assert!(ping().is_err(), "{own} answers {from}");
        let digit = family.digit();
        for line in [
            format!("-{digit} route add default via {router} dev wr-front table 100"),
            format!("-{digit} rule add from {own} lookup 100"),
        ] {
            topology.appliance.ip(&line)?;
        }
        assert!(ping()?.contains(" 0% packet loss"), "{own} does not answer {from}");
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_closed_port_of_a_vip_is_dropped_by_name_and_never_reaches_the_host() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let mut appliance = Appliance::start(&topology, &Config::new(&topology))?;
    for family in Family::BOTH {
        let before = appliance.counters()?;
        assert!(refused(&topology.client, vip(family, family), 81)?);
        let after = appliance.counters()?;
        assert!(count(&after, "vip_no_rule") > count(&before, "vip_no_rule"), "{after:?}");
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_frame_for_another_host_is_counted_and_goes_nowhere() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let mut appliance = Appliance::start(&topology, &Config::new(&topology))?;
    // What the kernel under the port said before it was quiet has a source that is ours.
    let before = count(&appliance.counters()?, "not_our_mac");
    let stranger = "10.0.1.99 lladdr 02:00:00:00:00:99 dev front0";
    topology.client.ip(&format!("neighbour add {stranger}"))?;
    let lost = topology.client.run("ping -n -c 3 -i 0.2 -W 1 10.0.1.99");
    assert!(lost.is_err(), "somebody answered: {lost:?}");
    let counters = appliance.stop(Signal::TERM)?;
    assert_eq!(count(&counters, "not_our_mac"), before + 3, "{counters:?}");
    Ok(())
}

/// What the kernel under the first port is told.
fn settings(topology: &Topology) -> Result<String> {
    let keys =
        ["ipv4/conf/lb0/arp_ignore", "ipv4/conf/lb0/rp_filter", "ipv6/conf/lb0/disable_ipv6"];
    let files = keys.map(|key| format!("/proc/sys/net/{key}")).join(" ");
    topology.appliance.run(&format!("cat {files}"))
}

#[test]
fn the_kernel_under_a_port_is_quiet_while_it_runs_and_nobody_answers_afterwards() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let before = settings(&topology)?;
    for _ in 0..2 {
        let appliance = Appliance::start(&topology, &Config::new(&topology))?;
        assert_eq!(settings(&topology)?, "8\n1\n1\n");
        for address in FRONT {
            let ping = topology.client.run(&format!("ping -n -c 2 -i 0.2 -W 2 {address}"))?;
            assert!(!ping.contains("DUP"), "{ping}");
        }
        appliance.stop(Signal::TERM)?;
        assert_eq!(settings(&topology)?, before, "as it was");
        let link = topology.appliance.ip("-br link show dev lb0")?;
        assert!(!link.contains("PROMISC"), "{link}");
        assert!(topology.appliance.ip("link show wr-front").is_err(), "the host interface is left");
        for address in FRONT {
            let lost = topology.client.run(&format!("ping -n -c 2 -i 0.2 -W 1 {address}"));
            assert!(lost.is_err(), "somebody answers: {lost:?}");
        }
    }
    Ok(())
}

#[test]
fn an_interface_with_an_address_of_its_own_is_left_alone_and_warned_about() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    topology.appliance.ip("address add 192.0.2.1/24 dev lb0")?;
    let before = settings(&topology)?;
    let appliance = Appliance::start(&topology, &Config::new(&topology))?;
    assert_eq!(settings(&topology)?, before);
    assert!(appliance.log().contains("lb0 has addresses of its own"), "{}", appliance.log());
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_start_that_fails_leaves_no_host_interface_and_the_kernel_as_it_was() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    topology.appliance.ip("link add taken type veth peer name other")?;
    let before = settings(&topology)?;
    let config = Config::new(&topology).to_string();
    // The second one's name is taken, which shows after the first has been made.
    let config = config.replace("host_interface = \"wr-back\"", "host_interface = \"taken\"");
    let (status, said) = Appliance::refuse(&topology, &config)?;
    assert_eq!(status.code(), Some(71), "{said}");
    assert!(said.contains("host interface taken: create it"), "{said}");
    assert!(topology.appliance.ip("link show wr-front").is_err(), "the first one is left");
    assert_eq!(settings(&topology)?, before);
    Ok(())
}

/// Sends back what comes, on one connection.
fn echo(listener: &TcpListener) -> std::io::Result<()> {
    let (mut stream, _) = listener.accept()?;
    let mut buffer = [0; 65_536];
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            length => stream.write_all(&buffer[..length])?,
        }
    }
}

#[test]
fn a_tcp_session_and_ping_with_the_ports_own_address_work_while_the_vip_is_loaded() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let appliance = Appliance::start(&topology, &Config::new(&topology))?;
    for address in FRONT {
        let host = SocketAddr::new(address.parse().expect("an address"), 2222);
        let listener = topology.appliance.enter(|| TcpListener::bind(host))?.expect("it is ours");
        let body = noise(1_000_000);
        std::thread::scope(|scope| {
            scope.spawn(|| echo(&listener));
            let load = scope.spawn(|| {
                let ask = |_| vips().try_for_each(|vip| ask(&topology.client, vip).map(drop));
                (0..200).try_for_each(ask)
            });
            let connect = || TcpStream::connect_timeout(&host, Duration::from_secs(5));
            let stream = topology.client.enter(connect)?.expect("it listens");
            stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
            let (mut out, mut back) = (stream.try_clone().expect("a clone"), vec![0; body.len()]);
            scope.spawn({
                let body = &body;
                move || out.write_all(body)
            });
            (&stream).read_exact(&mut back).expect("it comes back");
            assert!(back == body, "{host}: other bytes came back");
            let ping = format!("ping -n -c 5 -i 0.2 -W 2 {address}");
            let ping = topology.client.run(&ping)?;
            assert!(ping.contains(" 0% packet loss") && !ping.contains("DUP"), "{ping}");
            load.join().expect("no panic")
        })?;
    }
    let link = topology.appliance.ip("-s link show dev wr-front")?;
    let figures: Vec<u64> =
        link.lines().filter_map(|l| l.split_whitespace().next()?.parse().ok()).collect();
    assert!(figures.iter().all(|bytes| *bytes > 2_000_000), "received and sent: {link}");
    let neighbours = topology.appliance.ip("neighbour show dev wr-front")?;
    assert!(neighbours.contains(&topology.client.mac("front0")?), "{neighbours}");
    appliance.stop(Signal::TERM)?;
    Ok(())
}

/// Frames that are for the host, one of each kind, all from somebody who waits for nothing.
fn floods(ours: &str) -> [(&'static str, Vec<u8>); 4] {
    const FROM: [u8; 6] = [2, 0, 0, 0, 0, 0x99];
    let mut mac = [0; 6];
    for (byte, text) in mac.iter_mut().zip(ours.split(':')) {
        *byte = u8::from_str_radix(text, 16).expect("an Ethernet address");
    }
    let datagram = |to| {
        let mut frame = Vec::new();
        let builder = PacketBuilder::ethernet2(FROM, mac).ipv4([10, 0, 1, 99], to, 64).udp(9, 9);
        builder.write(&mut frame, &[0; 1000]).expect("it fits");
        frame
    };
    let mut arp = Vec::new();
    let request = ArpEthIpv4Packet {
        operation: ArpOperation::REQUEST,
        sender_mac: FROM,
        sender_ipv4: [10, 0, 1, 99],
        target_mac: [0; 6],
        target_ipv4: [10, 0, 1, 1],
    };
    PacketBuilder::ethernet2(FROM, [0xFF; 6])
        .arp(request.into())
        .write(&mut arp)
        .expect("it is whole");
    let [asks, own, group] = ["2001:db8:1::99", FRONT[1], "ff02::1:ff00:1"]
        .map(|text| text.parse::<Ipv6Addr>().expect("an address").octets());
    let mut solicitation = Vec::new();
    PacketBuilder::ethernet2(FROM, [0x33, 0x33, 0xFF, 0, 0, 1])
        .ipv6(asks, group, 255)
        .icmpv6(Icmpv6Type::NeighborSolicitation)
        .write(&mut solicitation, &[&own[..], &[1, 1], &FROM].concat())
        .expect("it is whole");
    [
        ("datagrams to its address", datagram([10, 0, 1, 1])),
        ("datagrams to addresses of nobody", datagram([192, 0, 2, 77])),
        ("ARP", arp),
        ("neighbour discovery", solicitation),
    ]
}

#[test]
fn a_flood_to_the_host_is_cut_to_its_rate_by_name_and_the_vip_goes_on() -> Result<()> {
    const FLOOD: usize = 20_000;
    let topology = Topology::new(Arms::One)?;
    let config = Config::new(&topology).to_string();
    let config = config.replace("host_interface", "host_rate = 100\nhost_interface");
    let mut appliance = Appliance::start(&topology, &config)?;
    let (vip, mac) = (vip(Family::V4, Family::V4), topology.appliance.mac("lb0")?);
    let mut wire = topology.fabric.enter(|| tun::create_tap("flood0"))??;
    topology.fabric.ip("link set flood0 master backs up")?;
    // What the host would say to the client's own questions may be among what is cut.
    topology.client.ip(&format!("neighbour replace {} lladdr {mac} dev front0", FRONT[0]))?;
    ask(&topology.client, vip)?;
    for (what, frame) in floods(&mac) {
        let before = appliance.counters()?;
        std::thread::scope(|scope| {
            // A frame that the wire refuses is a flood all the same.
            let flood = || (0..FLOOD).for_each(|_| drop(wire.write(&frame)));
            scope.spawn(flood);
            (0..50).try_for_each(|_| ask(&topology.client, vip).map(drop))
        })?;
        let after = appliance.counters()?;
        let [taken, refused] =
            ["host", "host_full"].map(|name| count(&after, name) - count(&before, name));
        assert!(refused > taken && refused > 1000, "{what}: {before:?} {after:?}");
        println!("{what}: {taken} taken, {refused} refused");
    }
    appliance.stop(Signal::TERM)?;
    Ok(())
}

#[test]
fn a_reload_gives_the_host_interface_new_addresses_and_takes_old_ones_away() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let old = Config::new(&topology);
    let mut new = old.clone();
    new.ports[0].addresses.extend(["10.0.1.7/24".into(), "2001:db8:1::7/64".into()]);
    // Who has just been asked in vain is asked again within a second only.
    let pings = |address: &str, seconds: u8| {
        topology.client.run(&format!("ping -n -c 1 -w {seconds} {address}")).is_ok()
    };
    let mut appliance = Appliance::start(&topology, &old)?;
    let listener = topology.appliance.enter(|| TcpListener::bind((FRONT[0], 2222)))?.expect("ours");
    let stays = || TcpStream::connect((FRONT[0], 2222));
    let mut stays = topology.client.enter(stays)?.expect("it listens");
    for (config, expected) in [(&old, false), (&new, true), (&old, false)] {
        appliance.reload(config)?;
        for address in ["10.0.1.7", "2001:db8:1::7"] {
            assert_eq!(pings(address, if expected { 5 } else { 1 }), expected, "{address}");
        }
        assert!(FRONT.iter().all(|address| pings(address, 5)));
    }
    let (mut served, _) = listener.accept().expect("it came");
    stays.write_all(b"still here").expect("it is open");
    let mut heard = [0; 10];
    served.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
    served.read_exact(&mut heard).expect("a connection to an address that stays goes on");
    appliance.stop(Signal::TERM)?;
    Ok(())
}
