//! The Tables that say what the state has decided.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use tables::maglev::MaglevCache;
use tables::rules::{Protocol, RuleSpec};
use tables::{Backends, PrefixMap, RuleTable, ServiceId, SlotTable, Tables};

use super::loads::Loads;
use super::loop_guard;
use super::pools::PoolBuilder;
use super::templates;
use super::unbuildable::Unbuildable;
use super::wiring::{Ways, Wiring};
use super::zones::Zones;
use crate::model::{self, Config, ForwardingRule, RuleProtocol};
use crate::state::State;

/// Each backend's address, and where packets to it go.
type Routed = BTreeMap<IpAddr, Ways>;

/// Builds Tables, and keeps what two generations share.
#[derive(Debug, Default)]
pub struct Planner {
    cache: MaglevCache,
    loads: Loads,
    /// The ways to backends that the last Tables are made of.
    routed: Routed,
    generation: u64,
}

impl Planner {
    /// The Tables that say what `state` has decided.
    pub fn tables(&mut self, state: &State, wiring: &Wiring) -> Result<Tables, Unbuildable> {
        let config = state.config();
        let zones = Zones::of(config);
        let services = self.services(state, &zones)?;
        let rules = RuleTable::build(&rule_specs(config, state))?;
        let routed = routed(state, wiring);
        let slots = slots(config, state, wiring, &routed)?;
        // Nothing can fail any more: what is kept is what is published.
        self.routed = routed;
        self.generation += 1;
        Ok(Tables {
            generation: self.generation,
            seed: config.dataplane.hash_seed,
            ports: ports(config, wiring),
            rules,
            services,
            slots,
            traffic: self.loads.traffic(state, wiring.workers),
            backends: backends(state),
            client_zones: zones.prefixes(config).collect::<PrefixMap<_>>(),
            tunnel_sources: loop_guard::sources(state),
            tunnel_prefixes: loop_guard::prefixes(state),
            gue_ports: loop_guard::gue_ports(state),
        })
    }

    /// Whether packets to backends go where the last Tables say, as far as is known now.
    pub fn is_routed(&self, state: &State, wiring: &Wiring) -> bool {
        self.routed == routed(state, wiring)
    }

    fn services(
        &mut self,
        state: &State,
        zones: &Zones,
    ) -> Result<Box<[Option<tables::Service>]>, Unbuildable> {
        let seed = &state.config().dataplane.hash_seed;
        let mut pools = PoolBuilder { cache: &mut self.cache, seed, zones };
        let mut services = Vec::new();
        for service in state.services() {
            let place = usize::from(service.id.0);
            if services.len() <= place {
                services.resize(place + 1, None);
            }
            services[place] = Some(tables::Service {
                name: Arc::clone(&service.config.name),
                plan: service.plan.clone(),
                idle_ticks: state.clock().ticks(service.config.idle_timeout),
                idle_floor: service.idle_floor,
                pool: pools.whole(service)?,
                zonal: pools.zonal(service)?,
            });
        }
        Ok(services.into())
    }
}

fn ports(config: &Config, wiring: &Wiring) -> Box<[tables::Port]> {
    let port = |(number, port): (usize, &model::Port)| tables::Port {
        name: Arc::clone(&port.name),
        mac: wiring.mac(tables::PortId(number as u8)),
        vlan: port.vlan,
        mtu: port.mtu,
        any_mac: wiring.any_mac,
        addresses: port.addresses.iter().map(ipnet::IpNet::addr).collect(),
        icmp_rate: port.icmp_rate,
        answer_echo: port.answer_echo,
    };
    config.ports.iter().enumerate().map(port).collect()
}

fn rule_specs(config: &Config, state: &State) -> Vec<RuleSpec> {
    config.rules.iter().filter_map(|r| Some(rule_spec(r, state.service(&r.service)?.id))).collect()
}

fn rule_spec(rule: &ForwardingRule, service: ServiceId) -> RuleSpec {
    RuleSpec {
        name: Arc::clone(&rule.name),
        address: rule.address,
        protocol: match rule.protocol {
            RuleProtocol::Tcp => Protocol::Tcp,
            RuleProtocol::Udp => Protocol::Udp,
            RuleProtocol::L3Default => Protocol::L3Default,
        },
        ports: rule.ports.clone(),
        service,
        client_allow: rule.client_allow.clone(),
    }
}

/// Backends of several services share an address: each is looked up once.
fn routed(state: &State, wiring: &Wiring) -> Routed {
    let backends = state.services().flat_map(|service| &service.backends);
    let addresses: std::collections::BTreeSet<_> = backends.map(|b| b.address).collect();
    let way = |address| (address, wiring.ways(state.config(), address));
    addresses.into_iter().map(way).collect()
}

/// Every slot number's epochs; templates for those that a backend has, draining ones included.
fn slots(
    config: &Config,
    state: &State,
    wiring: &Wiring,
    routed: &Routed,
) -> Result<SlotTable, Unbuildable> {
    let mut slots: Vec<_> = state.epochs().iter().map(|epochs| (*epochs, None)).collect();
    for service in state.services() {
        for backend in &service.backends {
            let ways = routed.get(&backend.address).cloned().unwrap_or_default();
            let templates = templates::templates(config, wiring, ways, service, backend)?;
            slots[backend.slot.get() as usize].1 = Some(templates);
        }
    }
    Ok(SlotTable::new(slots))
}

fn backends(state: &State) -> Backends {
    let all = state.services().flat_map(|service| &service.backends);
    all.map(|backend| (backend.address, backend.slot)).collect()
}
