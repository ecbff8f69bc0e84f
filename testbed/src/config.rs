//! The configuration file of a test.

use std::fmt;

use crate::address::{self, BACK, BACKENDS, FRONT, Family};
use crate::topology::{Arms, Port, Topology};

/// What carries frames between the veth and Windrose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// DPDK's `net_af_packet`.
    AfPacket,
    /// DPDK's `net_af_xdp`.
    AfXdp,
}

/// A configuration; its text is what `Display` gives.
#[derive(Clone, Debug)]
pub struct Config {
    /// `encapsulation.kind`
    pub kind: &'static str,
    /// More keys of `[encapsulation]`.
    pub encapsulation: &'static str,
    /// CPU ids of the workers.
    pub workers: Vec<u16>,
    /// `hugepages`
    pub hugepages: &'static str,
    /// `memory`
    pub memory: &'static str,
    /// `fragment_oversize` of every port.
    pub fragment_oversize: bool,
    /// What drives the ports.
    pub driver: Driver,
    /// Which backends are members.
    pub members: Vec<usize>,
    /// More services and rules, as text at the end of the file.
    pub more: String,
    /// `connection_draining_timeout` of both services.
    pub draining: &'static str,
    /// `idle_timeout` of both services.
    pub idle: &'static str,
    /// The appliance's ports.
    pub ports: Vec<Port>,
    /// How the appliance is connected.
    pub arms: Arms,
    /// `bond` of the one device, whose members are its two wires.
    pub bond: Option<&'static str>,
}

impl Config {
    /// For a topology: one worker, IPIP, every backend a member, no huge pages.
    pub fn new(topology: &Topology) -> Self {
        Self {
            kind: "ipip",
            encapsulation: "",
            workers: vec![0],
            hugepages: "off",
            memory: "128M",
            fragment_oversize: false,
            driver: Driver::AfPacket,
            members: (0..BACKENDS).collect(),
            more: String::new(),
            draining: "60s",
            idle: "600s",
            ports: topology.ports.clone(),
            arms: topology.arms,
            bond: None,
        }
    }

    /// For a topology whose one arm or trunk is two wires.
    pub fn bonded(topology: &Topology, bond: &'static str) -> Self {
        // Each member's buffers are a queue's.
        Self { bond: Some(bond), memory: "256M", ..Self::new(topology) }
    }

    /// The same with another encapsulation.
    pub fn kind(self, kind: &'static str) -> Self {
        Self { kind, ..self }
    }

    /// The same with segments on the ports that are as large as the wire carries: they do not fit
    /// into a tunnel behind it.
    pub fn narrow(mut self) -> Self {
        self.ports.iter_mut().for_each(|port| port.mtu = 1500);
        self
    }

    /// The same with other members.
    pub fn members(self, members: impl IntoIterator<Item = usize>) -> Self {
        Self { members: members.into_iter().collect(), ..self }
    }

    /// The same without one backend.
    pub fn without(self, name: &str) -> Self {
        let members = self.members.clone();
        self.members(members.into_iter().filter(|&i| address::backend_name(i) != name))
    }

    fn device(&self, index: usize, interface: &str) -> String {
        match self.driver {
            Driver::AfPacket => {
                format!("net_af_packet{index},iface={interface},qpairs={}", self.workers.len())
            }
            Driver::AfXdp => format!("net_af_xdp{index},iface={interface}"),
        }
    }

    fn port(&self, f: &mut fmt::Formatter<'_>, index: usize, port: &Port) -> fmt::Result {
        let pairs = port.neighbours.iter().map(|(a, mac)| format!("\"{a}\" = \"{mac}\""));
        writeln!(f, "\n[[port]]\nname = \"{}\"", port.name)?;
        let mut ports = self.ports.iter();
        let first = ports.position(|p| p.interface == port.interface).unwrap_or(index);
        self.device_of(f, index, first, port.interface)?;
        writeln!(f, "vlan = {}", port.vlan)?;
        writeln!(f, "addresses = {:?}", port.addresses)?;
        writeln!(f, "mtu = {}\nfragment_oversize = {}", port.mtu, self.fragment_oversize)?;
        writeln!(f, "host_interface = \"wr-{}\"", port.name)?;
        writeln!(f, "neighbours = {{ {} }}", pairs.collect::<Vec<_>>().join(", "))
    }

    /// The port that is the `first` of its device says what a bond is made of.
    fn device_of(
        &self,
        f: &mut fmt::Formatter<'_>,
        index: usize,
        first: usize,
        interface: &str,
    ) -> fmt::Result {
        let Some(bond) = self.bond else {
            return writeln!(f, "device = \"{}\"", self.device(first, interface));
        };
        writeln!(f, "device = \"bond0\"")?;
        if index != first {
            return Ok(());
        }
        let wire = interface.trim_end_matches('0');
        let members = [0, 1].map(|place| self.device(place, &format!("{wire}{place}")));
        writeln!(f, "bond = \"{bond}\"\nmembers = {members:?}")
    }

    /// One service per family of the backends' addresses, and a rule per family of the VIP.
    fn service(&self, f: &mut fmt::Formatter<'_>, back: Family) -> fmt::Result {
        let digit = back.digit();
        writeln!(f, "\n[[service]]\nname = \"web-v{digit}\"\ninitial_health = \"healthy\"")?;
        writeln!(f, "connection_draining_timeout = \"{}\"", self.draining)?;
        writeln!(f, "idle_timeout = \"{}\"", self.idle)?;
        if self.kind == "l3dsr" {
            writeln!(f, "encapsulation = {{ l3dsr_dscp = {} }}", address::dscp(back))?;
        }
        writeln!(f, "[[service.group]]\nname = \"rack\"\nbackends = [")?;
        let segment = if self.arms == Arms::One { 1 } else { 2 };
        for &index in &self.members {
            let name = address::backend_name(index);
            let address = address::backend(segment, back, index);
            writeln!(f, "  {{ name = \"{name}\", address = \"{address}\" }},")?;
        }
        writeln!(f, "]")
    }

    fn rule(&self, f: &mut fmt::Formatter<'_>, front: Family, back: Family) -> fmt::Result {
        let (over, to) = (front.digit(), back.digit());
        writeln!(f, "\n[[forwarding_rule]]\nname = \"v{over}-to-v{to}\"")?;
        writeln!(f, "address = \"{}\"", address::vip(front, back))?;
        writeln!(f, "protocol = \"TCP\"\nports = [80]\nservice = \"web-v{to}\"")
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[dataplane]\nworkers = {:?}", self.workers)?;
        writeln!(f, "hugepages = \"{}\"\nmemory = \"{}\"", self.hugepages, self.memory)?;
        writeln!(f, "conntrack_entries = 20_000\nconntrack_entries_v6 = 20_000")?;
        writeln!(f, "hash_seed = \"3f0c51a2b7e94d068a1d5f27c6e4b930\"\nidle = \"adaptive\"")?;
        for (index, port) in self.ports.iter().enumerate() {
            self.port(f, index, port)?;
        }
        let source = if self.arms == Arms::One { FRONT } else { BACK };
        writeln!(f, "\n[encapsulation]\nkind = \"{}\"\nsource = {source:?}", self.kind)?;
        writeln!(f, "{}", self.encapsulation)?;
        for back in Family::BOTH {
            self.service(f, back)?;
        }
        for front in Family::BOTH {
            // Without a tunnel a VIP's backends are of its own family.
            let direct = matches!(self.kind, "l2" | "l3dsr");
            let reaches = |back: &Family| !direct || *back == front;
            for back in Family::BOTH.into_iter().filter(reaches) {
                self.rule(f, front, back)?;
            }
        }
        writeln!(f, "{}", self.more)
    }
}
