//! Fragmented datagrams through Windrose. `net_af_xdp`, because the kernel under `net_af_packet`
//! puts fragments together before DPDK sees them.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use rustix::net::sockopt;
use rustix::process::Signal;
use testbed::address::{self, Family, vip};
use testbed::appliance::Appliance;
use testbed::backend::Backend;
use testbed::client::{self, noise};
use testbed::config::{Config, Driver};
use testbed::topology::{Arms, Topology};
use testbed::{Error, Result};

const PORT: u16 = 5300;
const REQUESTS: usize = 20;
/// Six fragments at an MTU of 1500.
const LENGTH: usize = 8000;

/// A service that keeps a client's datagrams together, whole or not, and takes every port (S-6).
fn service(family: Family) -> String {
    let member = |index| {
        let address = address::backend(2, family, index);
        format!("{{ name = \"{}\", address = \"{address}\" }}", address::backend_name(index))
    };
    let members: Vec<_> = (0..address::BACKENDS).map(member).collect();
    format!(
        "[[service]]\nname = \"udp-v{digit}\"\ninitial_health = \"healthy\"\n\
         session_affinity = \"CLIENT_IP\"\ntracking_mode = \"PER_SESSION\"\n\
         [[service.group]]\nname = \"rack\"\nbackends = [ {} ]\n\
         [[forwarding_rule]]\nname = \"udp-v{digit}\"\naddress = \"{}\"\nprotocol = \"UDP\"\n\
         ports = \"ALL\"\nservice = \"udp-v{digit}\"\n",
        members.join(", "),
        vip(family, family),
        digit = family.digit(),
    )
}

fn socket(of: &Backend, vip: IpAddr) -> Result<UdpSocket> {
    let socket = of.namespace.enter(|| UdpSocket::bind(SocketAddr::new(vip, PORT)))?;
    let socket = socket.map_err(|e| Error::Unexpected(format!("{vip} at {}: {e}", of.name)))?;
    let patience = Some(Duration::from_millis(500));
    socket.set_read_timeout(patience).map_err(|e| Error::Unexpected(e.to_string()))?;
    // All requests are there before the first is read.
    let room = sockopt::set_socket_recv_buffer_size_force(&socket, 4 << 20);
    room.map_err(|e| Error::Unexpected(e.to_string()))?;
    Ok(socket)
}

/// Sends every request from a port of its own.
fn ask(topology: &Topology, vip: IpAddr, body: &[u8]) -> Result<()> {
    let sent = topology.client.enter(|| {
        (0..REQUESTS).try_for_each(|_| {
            let any = if vip.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            UdpSocket::bind(any)?.send_to(body, (vip, PORT)).map(drop)
        })
    })?;
    sent.map_err(|e| Error::Unexpected(format!("sending to {vip}: {e}")))
}

/// How many of the requests came, whole and unchanged.
fn came(at: &UdpSocket, body: &[u8]) -> usize {
    let mut buffer = vec![0; 1 << 16];
    std::iter::from_fn(|| {
        at.recv(&mut buffer).ok().map(|length| assert!(buffer[..length] == *body))
    })
    .count()
}

#[test]
fn s6_fragmented_datagrams_of_a_client_arrive_whole_at_one_backend() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let more = Family::BOTH.map(service).concat();
    let config = Config { driver: Driver::AfXdp, more, ..Config::new(&topology) };
    let appliance = Appliance::start(&topology, &config)?;
    let body = noise(LENGTH);
    for vip in Family::BOTH.map(|family| vip(family, family)) {
        let sockets: Result<Vec<_>> = topology.backends.iter().map(|b| socket(b, vip)).collect();
        // While a neighbour is being asked for, the client's kernel keeps fewer packets than these.
        client::ask(&topology.client, vip)?;
        ask(&topology, vip, &body)?;
        let mut counts: Vec<_> = sockets?.iter().map(|socket| came(socket, &body)).collect();
        counts.sort_unstable();
        assert_eq!(counts, [0, 0, REQUESTS], "{vip}");
    }
    let counters = appliance.stop(Signal::TERM)?;
    let fragments = 2 * 6 * REQUESTS as u64;
    assert!(counters.get("forwarded").is_some_and(|n| *n >= fragments), "{counters:?}");
    Ok(())
}
