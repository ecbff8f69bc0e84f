//! The TAP device of a port, in a network namespace of its own. Needs root.

use std::net::UdpSocket;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use control::host::{Frames, HostConfig, HostInterface};

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 0x10];

/// Queues without bounds in place of the workers'.
struct Queues {
    to_host: Receiver<Vec<u8>>,
    to_network: Sender<Vec<u8>>,
}

impl Frames for Queues {
    fn next(&mut self, deliver: &mut dyn FnMut(&[u8])) -> bool {
        self.to_host.try_recv().map(|frame| deliver(&frame)).is_ok()
    }

    fn send(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> Option<usize>) -> bool {
        let mut buffer = vec![0; 2048];
        let Some(length) = fill(&mut buffer) else { return false };
        buffer.truncate(length);
        self.to_network.send(buffer).is_ok()
    }
}

/// The worker's side.
struct Worker {
    to_host: Sender<Vec<u8>>,
    from_host: Receiver<Vec<u8>>,
}

fn queues() -> (Worker, Queues) {
    let ((to_host, host_in), (host_out, from_host)) = (channel(), channel());
    (Worker { to_host, from_host }, Queues { to_host: host_in, to_network: host_out })
}

fn config(name: &str) -> HostConfig {
    let addresses = ["10.9.0.2/24", "10.9.1.2/24", "2001:db8:9::2/64"];
    let addresses = addresses.map(|a| a.parse().unwrap()).to_vec();
    HostConfig {
        name: name.into(),
        mac: MAC,
        mtu: 1400,
        vlan: 0,
        addresses,
        rate: 10_000,
        link: true,
    }
}

/// Moves this thread, and so all that it starts, into a new network namespace.
fn new_namespace() {
    // SAFETY: has no precondition.
    let done = unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0;
    assert!(done, "a network namespace needs root");
}

fn ip(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split(' ')).output().expect("ip runs");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[cfg_attr(no_namespace, ignore = "a network namespace needs root")]
fn a_host_interface_has_the_ports_addresses_passes_frames_both_ways_and_goes_when_dropped() {
    new_namespace();
    let (worker, queues) = queues();
    let interface = HostInterface::start(&config("wr-test"), queues).expect("it starts");

    let shown = ip("addr show wr-test");
    for wanted in
        ["mtu 1400", "02:00:00:00:00:10", "10.9.0.2/24", "10.9.1.2/24", "2001:db8:9::2/64", "UP"]
    {
        assert!(shown.contains(wanted), "{wanted} in {shown}");
    }
    assert!(!shown.contains("tentative"), "{shown}");

    // Out: the kernel asks who has the neighbour's address.
    let socket = UdpSocket::bind("10.9.0.2:7000").unwrap();
    socket.send_to(b"to the network", "10.9.0.1:7000").unwrap();
    let neighbour = [10, 9, 0, 1];
    let arp = |frame: &Vec<u8>| frame[12..14] == [0x08, 0x06] && frame[38..42] == neighbour;
    let asked = receive(&worker, arp);
    assert_eq!(asked[6..12], MAC);

    // In: the answer, from a worker; then the datagram comes out.
    worker.to_host.send(arp_reply(&asked)).unwrap();
    let datagram = receive(&worker, |frame| frame.ends_with(b"to the network"));
    assert_eq!(datagram[..6], [2, 0, 0, 0, 0, 0x20]);

    // A second one of that name is refused, by name.
    let (_, queues) = self::queues();
    let error = HostInterface::start(&config("wr-test"), queues).unwrap_err().to_string();
    assert!(
        error.contains("host interface wr-test: create it") && error.contains("taken"),
        "{error}"
    );

    // A frame that is none is counted, not lost silently.
    worker.to_host.send(vec![0; 3]).unwrap();
    wait_until(|| interface.undelivered() == 1);

    drop(interface);
    assert!(ip("addr show wr-test").is_empty());
}

/// Where the host's `all` has duplicates looked for, that counts for every interface.
#[test]
#[cfg_attr(no_namespace, ignore = "a network namespace needs root")]
fn ipv6_addresses_are_usable_without_asking_whether_somebody_has_them() {
    new_namespace();
    std::fs::write("/proc/sys/net/ipv6/conf/all/accept_dad", "1").expect("writes");
    let (worker, queues) = queues();
    let _interface = HostInterface::start(&config("wr-dad"), queues).expect("it starts");
    wait_until(|| !ip("addr show wr-dad").contains("tentative"));
    // ICMPv6, a neighbour solicitation, from nobody (RFC 4862, 5.4).
    let asks = |frame: &Vec<u8>| {
        frame[12..14] == [0x86, 0xdd] && frame[22..38] == [0; 16] && frame.get(54) == Some(&135)
    };
    assert!(!worker.from_host.try_iter().any(|frame| asks(&frame)));
}

#[test]
#[cfg_attr(no_namespace, ignore = "a network namespace needs root")]
fn the_device_has_a_carrier_as_long_as_its_ports_link_is_up_and_routes_over_it_count_so_long() {
    new_namespace();
    let (_worker, queues) = queues();
    let config = HostConfig { link: false, ..config("wr-link") };
    let mut interface = HostInterface::start(&config, queues).expect("it starts");
    for link in [false, true, true, false, true] {
        interface.set_link(link).expect("the kernel takes it");
        wait_until(|| ip("link show wr-link").contains("NO-CARRIER") != link);
        for to in ["10.9.0.1", "2001:db8:9::1"] {
            wait_until(|| ip(&format!("route get {to}")).contains("wr-link") == link);
        }
    }
    // Whoever sets it down and up again finds all of it there.
    ip("link set wr-link down");
    ip("link set wr-link up");
    let shown = ip("addr show wr-link");
    for address in ["10.9.0.2/24", "10.9.1.2/24", "2001:db8:9::2/64"] {
        assert!(shown.contains(address), "{address} in {shown}");
    }
}

#[test]
#[cfg_attr(no_namespace, ignore = "a network namespace needs root")]
fn on_a_vlan_the_device_is_untagged_and_vips_are_announced_and_answered_with_the_tag() {
    const TAG: [u8; 4] = [0x81, 0, 0, 7];
    new_namespace();
    let (worker, queues) = queues();
    let config = HostConfig { vlan: 7, ..config("wr-vlan") };
    let mut interface = HostInterface::start(&config, queues).expect("it starts");
    interface.announce(["10.9.0.99".parse().unwrap()].into());
    let about = |address: [u8; 4]| {
        move |frame: &Vec<u8>| frame[12..16] == TAG && frame.get(32..36) == Some(&address)
    };
    receive(&worker, about([10, 9, 0, 99]));

    let asked = |target: u8| {
        let arp = [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 0x20, 10, 9, 0, 1, 0, 0, 0, 0, 0, 0];
        let ends = [&[0xFF; 6][..], &[2, 0, 0, 0, 0, 0x20]].concat();
        [&ends[..], &TAG, &[8, 6], &arp, &[10, 9, 0, target]].concat()
    };
    let reply = |frame: &Vec<u8>| frame[12..18] == [0x81, 0, 0, 7, 8, 6] && frame[25] == 2;
    // A VIP's by us, the port's own by the kernel; both with the port's Ethernet address.
    for target in [99, 2] {
        worker.to_host.send(asked(target)).unwrap();
        let answer = receive(&worker, |frame| reply(frame) && frame[32..36] == [10, 9, 0, target]);
        assert_eq!((&answer[..6], &answer[6..12]), (&[2, 0, 0, 0, 0, 0x20][..], &MAC[..]));
    }

    let addresses = ["10.9.0.3/24", "2001:db8:9::2/64"].map(|a| a.parse().unwrap());
    interface.set_addresses(&addresses).expect("the kernel takes them");
    // Somebody takes some away by hand: the next time they come back.
    ip("addr del 10.9.0.3/24 dev wr-vlan");
    ip("addr del 2001:db8:9::2/64 dev wr-vlan");
    interface.set_addresses(&addresses).expect("the kernel takes them again");
    let shown = ip("addr show wr-vlan");
    for (address, expected) in
        [("10.9.0.2/", false), ("10.9.1.2/", false), ("10.9.0.3/24", true), ("9::2/64", true)]
    {
        assert_eq!(shown.contains(address), expected, "{address} in {shown}");
    }
    assert_eq!(interface.undelivered(), 0);
}

fn receive(worker: &Worker, wanted: impl Fn(&Vec<u8>) -> bool) -> Vec<u8> {
    loop {
        let frame = worker.from_host.recv_timeout(Duration::from_secs(5)).expect("it comes");
        if wanted(&frame) {
            return frame;
        }
    }
}

fn wait_until(done: impl Fn() -> bool) {
    for _ in 0..500 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it did not happen");
}

fn arp_reply(request: &[u8]) -> Vec<u8> {
    let neighbour = [2, 0, 0, 0, 0, 0x20];
    let mut reply = request.to_vec();
    reply[..6].copy_from_slice(&MAC);
    reply[6..12].copy_from_slice(&neighbour);
    reply[21] = 2;
    let (sender, target) = (request[22..32].to_vec(), request[38..42].to_vec());
    reply[22..28].copy_from_slice(&neighbour);
    reply[28..32].copy_from_slice(&target);
    reply[32..42].copy_from_slice(&sender);
    reply
}
