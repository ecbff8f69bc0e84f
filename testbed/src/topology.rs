//! The namespaces and the wires between them.
//!
//! Two arms, the usual one: requests cross the appliance, answers do not (direct server return).
//!
//! ```text
//!   client ──front0── appliance ──back0── bridge ──eth0── b1 b2 b3
//!      └───────return0──────── bridge ────────eth1──────────┘
//! ```
//!
//! A trunk: the same, but the appliance has one wire with a VLAN for each side.
//!
//! Bonded: one or two arms, of several wires to one switch.
//!
//! One arm: everybody on one bridge, the appliance with one port.
//!
//! ```text
//!   client ──┐
//!   appliance ── bridge ── b1 b2 b3
//! ```

use std::net::IpAddr;
use std::sync::Arc;

use crate::address::{self, BACK, BACKENDS, CLIENT, FRONT, Family, RETURN, VIP_PREFIX};
use crate::backend::Backend;
use crate::cleanup::{self, Turn};
use crate::error::Result;
use crate::netns::{Namespace, wire};
use crate::trunk::{self, Switch, Wires};

/// What clients and the Internet carry.
const MTU: u16 = 1500;
/// Behind the appliance: room for the largest outer header (IPv6 and GUE, 52 bytes).
const TUNNEL_MTU: u16 = 1600;

/// The wires of a trunk, and its VLANs.
const TRUNK: [&str; 2] = ["trunk0", "trunk1"];
/// The wires of one arm, if it has several.
const ARM: [&str; 2] = ["lb0", "lb1"];
const FRONT_VLAN: u16 = 10;
const BACK_VLAN: u16 = 20;

/// How the appliance is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arms {
    /// One port, everybody's segment.
    One,
    /// A port to the clients, a port to the backends.
    Two,
    /// The same, both on one wire.
    Trunk,
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
    /// Its VLAN, 0: untagged.
    pub vlan: u16,
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
    /// The switches: a bridge for the backends' segment, one for the returns'.
    pub fabric: Namespace,
    mtus: [u16; 2],
    /// What its one arm or its trunk is made of, if it is several wires.
    switch: Option<Switch>,
    wires: Option<Arc<Wires>>,
    _turn: Turn,
}

impl Topology {
    /// Builds it and starts the web servers.
    pub fn new(arms: Arms) -> Result<Self> {
        Self::with_mtus(arms, [MTU, TUNNEL_MTU])
    }

    /// The same, with other MTUs: the clients', and that behind the appliance.
    pub fn with_mtus(arms: Arms, mtus: [u16; 2]) -> Result<Self> {
        Self::build(arms, mtus, None)
    }

    /// The same with two wires to one switch, for a bond: of one arm `lb0` and `lb1`, of a trunk
    /// `trunk0` and `trunk1`.
    pub fn bonded(arms: Arms, mtus: [u16; 2], switch: Switch) -> Result<Self> {
        Self::build(arms, mtus, Some(switch))
    }

    fn build(arms: Arms, mtus: [u16; 2], switch: Option<Switch>) -> Result<Self> {
        let turn = Turn::take()?;
        cleanup::prepare();
        let mut topology = Self {
            client: Namespace::new("client")?,
            appliance: Namespace::new("appliance")?,
            fabric: Namespace::new("fabric")?,
            backends: Vec::new(),
            ports: Vec::new(),
            arms,
            mtus,
            switch,
            wires: None,
            _turn: turn,
        };
        topology.switches()?;
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
            Arms::Two | Arms::Trunk => 2,
        }
    }

    fn switches(&self) -> Result<()> {
        for bridge in ["backs", "returns"] {
            // Snooping would hold back neighbour solicitations until a querier speaks.
            let options = "type bridge mcast_snooping 0";
            self.fabric.ip(&format!("link add {bridge} {options}"))?;
            self.fabric.ip(&format!("link set {bridge} up"))?;
        }
        Ok(())
    }

    /// Gives the appliance another wire to the backends' segment.
    pub fn plug_again(&self, interface: &str) -> Result<()> {
        self.plug(&self.appliance, interface, "backs", self.mtus[1])
    }

    /// Gives every backend a VIP more.
    pub fn add_vip(&self, vip: IpAddr) -> Result<()> {
        let length = if vip.is_ipv4() { 32 } else { 128 };
        let add = format!("address add {vip}/{length} dev lo");
        self.backends.iter().try_for_each(|backend| backend.namespace.ip(&add).map(drop))
    }

    /// Takes a backend's wire out of the switch, as of a host that has lost its power: nobody is told.
    pub fn unplug(&self, index: usize) -> Result<()> {
        self.fabric.ip(&format!("link set {}0 nomaster", address::backend_name(index))).map(drop)
    }

    /// Puts it back.
    pub fn replug(&self, index: usize) -> Result<()> {
        let wire = address::backend_name(index);
        self.fabric.ip(&format!("link set {wire}0 master backs")).map(drop)
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

    /// Connects one more interface to the backends' segment; `port` names its other end, at most 15
    /// bytes.
    pub fn attach(&self, namespace: &Namespace, interface: &str, port: &str) -> Result<()> {
        wire((namespace, interface), (&self.fabric, port), TUNNEL_MTU)?;
        self.fabric.ip(&format!("link set {port} master backs")).map(drop)
    }

    fn client(&mut self) -> Result<()> {
        host_settings(&self.client)?;
        if self.arms == Arms::Trunk {
            self.trunk()?;
        }
        let client = &self.client;
        match self.arms {
            Arms::One => self.plug(client, "front0", "backs", self.mtus[0])?,
            Arms::Two => {
                wire((client, "front0"), (&self.appliance, "lb0"), self.mtus[0])?;
                self.past_the_appliance(client)?;
            }
            Arms::Trunk => self.past_the_appliance(client)?,
        }
        assign(client, "front0", CLIENT)?;
        for family in Family::BOTH {
            let (to, via, from) = (VIP_PREFIX, FRONT, CLIENT);
            let [to, via, from] = [to, via, from].map(|pair| pair[family as usize]);
            client.ip(&format!("route add {to} via {via} dev front0 src {from}"))?;
        }
        Ok(())
    }

    /// The way that answers take.
    fn past_the_appliance(&self, client: &Namespace) -> Result<()> {
        self.plug(client, "return1", "returns", self.mtus[0])?;
        assign(client, "return1", RETURN)
    }

    /// The one link and its two VLANs: the client's, and the backends' bridge.
    fn trunk(&mut self) -> Result<()> {
        let sides = [(FRONT_VLAN, &self.client, "front0"), (BACK_VLAN, &self.fabric, "trunk-back")];
        let wires = self.start_wires(&TRUNK, &sides)?;
        self.wires = Some(wires);
        let mtu = self.mtus[0];
        self.client.ip(&format!("link set front0 mtu {mtu} up"))?;
        self.join("trunk-back")
    }

    /// The wires of one arm that is a bond.
    fn arm(&mut self) -> Result<()> {
        let wires = self.start_wires(&ARM, &[(0, &self.fabric, "arm")])?;
        self.wires = Some(wires);
        self.join("arm")
    }

    /// One wire, or two that are one link, with the appliance's ends up.
    fn start_wires(&self, names: &[&str], sides: &[(u16, &Namespace, &str)]) -> Result<Arc<Wires>> {
        let (count, switch) = self.switch.map_or((1, Switch::Flood), |switch| (2, switch));
        let names = names.get(..count).unwrap_or(names);
        let wires = trunk::start((&self.appliance, names), switch, sides)?;
        for name in names {
            self.appliance.ip(&format!("link set {name} mtu {} up", self.mtus[1]))?;
        }
        Ok(wires)
    }

    /// Puts a side of the wires on the backends' bridge.
    fn join(&self, side: &str) -> Result<()> {
        let mtu = self.mtus[1];
        self.fabric.ip(&format!("link set {side} mtu {mtu} master backs up")).map(drop)
    }

    /// Cuts one of the wires of a bond, or mends it: both ends see it.
    pub fn cut(&self, place: usize, cut: bool) -> Result<()> {
        let names = if self.arms == Arms::Trunk { TRUNK } else { ARM };
        if let (Some(wires), Some(name)) = (&self.wires, names.get(place)) {
            wires.cut(place, cut);
            let carrier = if cut { "off" } else { "on" };
            self.appliance.ip(&format!("link set {name} carrier {carrier}"))?;
        }
        Ok(())
    }

    fn appliance(&mut self) -> Result<()> {
        match self.arms {
            Arms::One if self.switch.is_some() => self.arm(),
            Arms::One => self.plug(&self.appliance, "lb0", "backs", self.mtus[1]),
            Arms::Two => self.plug(&self.appliance, "lb1", "backs", self.mtus[1]),
            Arms::Trunk => Ok(()),
        }
    }

    fn backend(&self, index: usize) -> Result<Namespace> {
        let backend = Namespace::new(&address::backend_name(index))?;
        host_settings(&backend)?;
        self.plug(&backend, "eth0", "backs", self.mtus[1])?;
        let on = |segment| Family::BOTH.map(|f| address::backend(segment, f, index).to_string());
        assign(&backend, "eth0", on(self.segment()))?;
        if self.arms != Arms::One {
            self.plug(&backend, "eth1", "returns", self.mtus[0])?;
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
        let port = |name, (interface, vlan), addresses, mtu, neighbours| Port {
            name,
            interface,
            addresses: with_prefix(addresses),
            mtu,
            vlan,
            neighbours,
        };
        let [outside, inside] = self.mtus;
        let two = |front, back| {
            vec![
                port("front", front, FRONT, outside, Vec::new()),
                port("back", back, BACK, inside, neighbours.clone()),
            ]
        };
        Ok(match self.arms {
            Arms::One => vec![port("front", ("lb0", 0), FRONT, inside, neighbours)],
            Arms::Two => two(("lb0", 0), ("lb1", 0)),
            Arms::Trunk => two((TRUNK[0], FRONT_VLAN), (TRUNK[0], BACK_VLAN)),
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
pub(crate) fn host_settings(namespace: &Namespace) -> Result<()> {
    for scope in ["all", "default"] {
        namespace.set(&format!("ipv4/conf/{scope}/rp_filter"), 0)?;
        namespace.set(&format!("ipv4/conf/{scope}/arp_ignore"), 1)?;
        namespace.set(&format!("ipv4/conf/{scope}/arp_announce"), 2)?;
        namespace.set(&format!("ipv6/conf/{scope}/accept_dad"), 0)?;
    }
    Ok(())
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
