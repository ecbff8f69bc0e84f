//! The namespaces and the wires between them.
//!
//! Two arms, the usual one: requests cross the appliance, answers do not (direct server return).
//!
//! ```text
//!   client ──front0── appliance ──back0── bridge ──eth0── b1 b2 b3
//!      └───────return0──────── bridge ────────eth1──────────┘
//! ```
//!
//! One arm: everybody on one bridge, the appliance with one port.
//!
//! ```text
//!   client ──┐
//!   appliance ── bridge ── b1 b2 b3
//! ```

use crate::address::{self, BACK, BACKENDS, CLIENT, FRONT, Family, RETURN, VIP_PREFIX};
use crate::backend::Backend;
use crate::cleanup::{self, Turn};
use crate::error::Result;
use crate::netns::{Namespace, wire};

/// What clients and the Internet carry.
const MTU: u16 = 1500;
/// Behind the appliance: room for the largest outer header (IPv6 and GUE, 52 bytes).
const TUNNEL_MTU: u16 = 1600;

/// How the appliance is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arms {
    /// One port, everybody's segment.
    One,
    /// A port to the clients, a port to the backends.
    Two,
}

/// One port of the appliance, as its configuration needs it.
#[derive(Clone, Debug)]
pub struct Port {
    /// The port's name in the configuration.
    pub name: &'static str,
    /// The veth in the appliance's namespace.
    pub interface: &'static str,
    /// Its addresses with their prefixes.
    pub addresses: Vec<String>,
    /// Its MTU.
    pub mtu: u16,
    /// The backends on its segment: address and Ethernet address.
    pub neighbours: Vec<(String, String)>,
}

/// Hosts, wires and web servers; all of it goes when this value goes.
#[derive(Debug)]
pub struct Topology {
    /// The web servers; first, so that they end before their namespaces go.
    pub backends: Vec<Backend>,
    /// Where requests come from.
    pub client: Namespace,
    /// Where Windrose runs.
    pub appliance: Namespace,
    /// The appliance's ports, in the order of its configuration.
    pub ports: Vec<Port>,
    /// How the appliance is connected.
    pub arms: Arms,
    fabric: Namespace,
    _turn: Turn,
}

impl Topology {
    /// Builds it and starts the web servers.
    pub fn new(arms: Arms) -> Result<Self> {
        let turn = Turn::take()?;
        cleanup::prepare();
        let mut topology = Self {
            client: Namespace::new("client")?,
            appliance: Namespace::new("appliance")?,
            fabric: Namespace::new("fabric")?,
            backends: Vec::new(),
            ports: Vec::new(),
            arms,
            _turn: turn,
        };
        topology.fabric()?;
        topology.client()?;
        topology.appliance()?;
        for index in 0..BACKENDS {
            let namespace = topology.backend(index)?;
            topology.backends.push(Backend::start(namespace, index)?);
        }
        topology.ports = topology.describe_ports()?;
        Ok(topology)
    }

    /// The segment that the backends' eth0 is on.
    fn segment(&self) -> u8 {
        match self.arms {
            Arms::One => 1,
            Arms::Two => 2,
        }
    }

    fn fabric(&self) -> Result<()> {
        for bridge in ["backs", "returns"] {
            // Snooping would hold back neighbour solicitations until a querier speaks.
            let options = "type bridge mcast_snooping 0";
            self.fabric.ip(&format!("link add {bridge} {options}"))?;
            self.fabric.ip(&format!("link set {bridge} up"))?;
        }
        Ok(())
    }

    /// Connects an interface to a bridge of the fabric.
    fn plug(&self, namespace: &Namespace, interface: &str, bridge: &str, mtu: u16) -> Result<()> {
        let role = namespace.name().rsplit('-').next().unwrap_or_default();
        // At most 15 bytes: `appliance0` and `client1` are the longest.
        let port = format!("{role}{}", &interface[interface.len() - 1..]);
        wire((namespace, interface), (&self.fabric, &port), mtu)?;
        self.fabric.ip(&format!("link set {port} master {bridge}")).map(drop)
    }

    /// Where the bridges are.
    pub(crate) fn fabric_namespace(&self) -> &Namespace {
        &self.fabric
    }

    /// Makes a TAP device, for a guest, on one of the fabric's bridges.
    pub(crate) fn tap(&self, name: &str, bridge: &str) -> Result<()> {
        self.fabric.ip(&format!("tuntap add dev {name} mode tap"))?;
        self.fabric.ip(&format!("link set {name} mtu {TUNNEL_MTU} master {bridge} up")).map(drop)
    }

    fn client(&self) -> Result<()> {
        let client = &self.client;
        host_settings(client)?;
        match self.arms {
            Arms::One => self.plug(client, "front0", "backs", MTU)?,
            Arms::Two => {
                wire((client, "front0"), (&self.appliance, "lb0"), MTU)?;
                self.plug(client, "return1", "returns", MTU)?;
                assign(client, "return1", RETURN)?;
            }
        }
        assign(client, "front0", CLIENT)?;
        for family in Family::BOTH {
            let (to, via, from) = (VIP_PREFIX, FRONT, CLIENT);
            let [to, via, from] = [to, via, from].map(|pair| pair[family as usize]);
            client.ip(&format!("route add {to} via {via} dev front0 src {from}"))?;
        }
        Ok(())
    }

    fn appliance(&self) -> Result<()> {
        let ports: &[&str] = match self.arms {
            Arms::One => {
                self.plug(&self.appliance, "lb0", "backs", TUNNEL_MTU)?;
                &["lb0"]
            }
            Arms::Two => {
                self.plug(&self.appliance, "lb1", "backs", TUNNEL_MTU)?;
                &["lb0", "lb1"]
            }
        };
        ports.iter().try_for_each(|port| mute(&self.appliance, port))
    }

    fn backend(&self, index: usize) -> Result<Namespace> {
        let backend = Namespace::new(&address::backend_name(index))?;
        host_settings(&backend)?;
        self.plug(&backend, "eth0", "backs", TUNNEL_MTU)?;
        let on = |segment| Family::BOTH.map(|f| address::backend(segment, f, index).to_string());
        assign(&backend, "eth0", on(self.segment()))?;
        if self.arms == Arms::Two {
            self.plug(&backend, "eth1", "returns", MTU)?;
            assign(&backend, "eth1", on(3))?;
            for (to, via) in CLIENT.iter().zip(RETURN) {
                backend.ip(&format!("route add {to} via {via} dev eth1"))?;
            }
        }
        for vip in address::vips() {
            let length = if vip.is_ipv4() { 32 } else { 128 };
            backend.ip(&format!("address add {vip}/{length} dev lo"))?;
        }
        Ok(backend)
    }

    fn describe_ports(&self) -> Result<Vec<Port>> {
        let neighbours = self.neighbours()?;
        let port = |name, interface, addresses, mtu, neighbours| Port {
            name,
            interface,
            addresses: with_prefix(addresses),
            mtu,
            neighbours,
        };
        Ok(match self.arms {
            Arms::One => vec![port("front", "lb0", FRONT, TUNNEL_MTU, neighbours)],
            Arms::Two => vec![
                port("front", "lb0", FRONT, MTU, Vec::new()),
                port("back", "lb1", BACK, TUNNEL_MTU, neighbours),
            ],
        })
    }

    fn neighbours(&self) -> Result<Vec<(String, String)>> {
        let mut neighbours = Vec::new();
        for (index, backend) in self.backends.iter().enumerate() {
            let mac = backend.namespace.mac("eth0")?;
            for family in Family::BOTH {
                let address = address::backend(self.segment(), family, index);
                neighbours.push((address.to_string(), mac.clone()));
            }
        }
        Ok(neighbours)
    }
}

/// A host that receives on one interface what it answers on another, and does not tell the
/// segment that it has the VIP.
fn host_settings(namespace: &Namespace) -> Result<()> {
    for scope in ["all", "default"] {
        namespace.set(&format!("ipv4/conf/{scope}/rp_filter"), 0)?;
        namespace.set(&format!("ipv4/conf/{scope}/arp_ignore"), 1)?;
        namespace.set(&format!("ipv4/conf/{scope}/arp_announce"), 2)?;
        namespace.set(&format!("ipv6/conf/{scope}/accept_dad"), 0)?;
    }
    Ok(())
}

/// The kernel sees what DPDK's port sees; it must answer none of it. What is for the kernel comes
/// back to it through the host interface, whose addresses it would otherwise also answer for here.
fn mute(namespace: &Namespace, interface: &str) -> Result<()> {
    namespace.set(&format!("ipv4/conf/{interface}/arp_ignore"), 8)?;
    namespace.set(&format!("ipv4/conf/{interface}/rp_filter"), 1)?;
    namespace.set(&format!("ipv6/conf/{interface}/disable_ipv6"), 1)
}

fn with_prefix<S: AsRef<str>>(addresses: [S; 2]) -> Vec<String> {
    let pairs = Family::BOTH.into_iter().zip(addresses);
    pairs.map(|(family, a)| format!("{}/{}", a.as_ref(), family.prefix())).collect()
}

fn assign<S: AsRef<str>>(namespace: &Namespace, interface: &str, to: [S; 2]) -> Result<()> {
    for address in with_prefix(to) {
        let nodad = if address.contains(':') { "nodad" } else { "" };
        namespace.ip(&format!("address add {address} dev {interface} {nodad}"))?;
    }
    Ok(())
}
