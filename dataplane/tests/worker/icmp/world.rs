//! Five backends behind one VIP of each family, over any tunnel.

use std::net::IpAddr;
use std::sync::Arc;

use tables::maglev::Member;
use tables::rules::{Ports, Protocol, RuleSpec};
use tables::template::{GueVariant, TemplateSpec, Tunnel};
use tables::*;

use super::packets::VIP6;
use crate::rig::{self, OUR_TUNNEL, OURS, ROUTER, Rig, VIP};

pub(crate) const OUR_TUNNEL6: [u8; 16] = [0x20, 1, 0xD, 0xB8, 0, 0xA, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
pub(crate) const BACKENDS: u8 = 5;

/// What Tables are made of.
#[derive(Clone)]
pub(crate) struct World {
    pub outer: Family,
    pub tunnel: Tunnel,
    pub vlan: u16,
    /// Of the port.
    pub mtu: u16,
    /// Of the way to the backends.
    pub tunnel_mtu: u16,
    /// `fragment_oversize`
    pub fragments: bool,
    pub weights: [u32; BACKENDS as usize],
    pub plan: Plan,
    pub rate: u32,
    pub echo: bool,
    /// Protocol and listed ports of each rule, at both VIPs; `None`: all ports.
    pub rules: Vec<(Protocol, Option<u16>)>,
    /// The service's other addresses.
    pub prefixes: Vec<&'static str>,
}

/// PER_CONNECTION, affinity NONE (T-6, S-1).
pub(crate) fn per_connection() -> Plan {
    Plan(PacketClass::ALL.map(|class| {
        let fields = if class.has_ports() { FieldSet::FIVE_TUPLE } else { FieldSet::THREE_TUPLE };
        row(fields, Some(fields))
    }))
}

pub(crate) fn row(select: FieldSet, track: Option<FieldSet>) -> ClassPlan {
    let lifetime = Lifetime::WhileHealthy;
    ClassPlan { select, track, track_before: EarlierKeys::NONE, syn_is_new: true, lifetime }
}

impl Default for World {
    fn default() -> Self {
        Self {
            outer: Family::V4,
            tunnel: Tunnel::Ipip,
            vlan: 0,
            mtu: 1500,
            tunnel_mtu: 1500,
            fragments: false,
            weights: [1; BACKENDS as usize],
            plan: per_connection(),
            rate: 1000,
            echo: true,
            rules: vec![(Protocol::Tcp, Some(80)), (Protocol::Udp, Some(80))],
            prefixes: vec![],
        }
    }
}

impl World {
    pub(crate) fn rig(&self) -> Rig {
        Rig::new(self.tables())
    }

    pub(crate) fn tables(&self) -> Tables {
        let slots = || (0..BACKENDS).map(|i| SlotId::new(i.into()).expect("in range"));
        let names: Vec<_> = slots().map(|slot| format!("g/{}", slot.get())).collect();
        let members: Vec<_> =
            names.iter().zip(self.weights).map(|(name, weight)| Member { name, weight }).collect();
        let seed = HashSeed([9; 16]);
        let maglev = Arc::new(Maglev::build(&members, 2_039, &seed).expect("builds"));
        let pool = Arc::new(Pool { maglev, members: slots().collect() });
        let service = Service {
            name: "web".into(),
            plan: self.plan.clone(),
            idle_ticks: 80,
            idle_floor: None,
            pool,
            zonal: [].into(),
        };
        Tables {
            seed,
            ports: Box::new([self.port()]),
            rules: RuleTable::build(&self.rule_specs()).expect("builds"),
            services: Box::new([Some(service)]),
            slots: SlotTable::new(
                (0..BACKENDS).map(|i| (SlotEpochs::default(), Some(self.templates(i)))),
            ),
            tunnel_sources: Box::new([OUR_TUNNEL.into(), OUR_TUNNEL6.into()]),
            gue_ports: Box::new([6080]),
            backends: (0..BACKENDS).map(|i| self.backend(i)).zip(slots()).collect(),
            ..Tables::default()
        }
    }

    /// A backend's address.
    pub(crate) fn backend(&self, number: u8) -> IpAddr {
        match self.outer {
            Family::V4 => [10, 1, 0, number].into(),
            Family::V6 => {
                let mut address = OUR_TUNNEL6;
                (address[5], address[15]) = (0xB, number);
                address.into()
            }
        }
    }

    fn port(&self) -> Port {
        Port {
            vlan: self.vlan,
            mtu: self.mtu,
            icmp_rate: self.rate,
            answer_echo: self.echo,
            ..rig::port()
        }
    }

    fn rule_specs(&self) -> Vec<RuleSpec> {
        let spec = |address: &str, (protocol, port): (Protocol, Option<u16>)| RuleSpec {
            name: "rule".into(),
            address: address.parse().expect("a prefix"),
            protocol,
            ports: port.map_or(Ports::All, |port| Ports::Ranges(vec![(port, port)])),
            service: ServiceId(0),
            client_allow: vec![],
        };
        let vips = [format!("{}/32", IpAddr::from(VIP)), format!("{}/128", IpAddr::from(VIP6))];
        let at_vips = vips.iter().flat_map(|vip| self.rules.iter().map(|rule| spec(vip, *rule)));
        let prefixes = self.prefixes.iter().map(|prefix| spec(prefix, (Protocol::Tcp, None)));
        at_vips.chain(prefixes).collect()
    }

    pub(crate) fn templates(&self, backend: u8) -> Box<[Template; 2]> {
        Box::new([Family::V4, Family::V6].map(|inner| {
            let spec = TemplateSpec {
                source: match self.outer {
                    Family::V4 => OUR_TUNNEL.into(),
                    Family::V6 => OUR_TUNNEL6.into(),
                },
                destination: self.backend(backend),
                src_mac: OURS,
                next_hop: Some(ROUTER),
                vlan: self.vlan,
                mtu: self.tunnel_mtu,
                fragment_oversize: self.fragments,
                tunnel: self.tunnel,
                inner,
                ..rig::spec()
            };
            Template::new(&spec).expect("one family")
        }))
    }

    /// What the tunnel puts in front of the packet.
    pub(crate) fn overhead(&self) -> usize {
        let shim = match self.tunnel {
            Tunnel::Gre { key: None } => 4,
            Tunnel::Gre { key: Some(_) } => 8,
            Tunnel::Gue { variant: GueVariant::Zero, .. } => 12,
            Tunnel::Gue { variant: GueVariant::One, .. } => 8,
            _ => 0,
        };
        shim + if self.outer == Family::V4 { 20 } else { 40 }
    }
}
