//! What the control thread publishes and the workers read.
//!
//! One [`Tables`] value is a whole, immutable picture of the configuration, the health of the
//! backends and the policy's verdict (D-5). Control builds a new one for every change and hands
//! it to the workers through [`publish`]; a worker takes it once a burst and only indexes.
//!
//! In reading order:
//!
//! - [`flow`]: a packet's five-tuple as words, the [`FieldSet`]s that mask it, the selection hash;
//! - [`plan`]: profile × affinity × tracking mode × persistence, compiled per packet class (D-1);
//! - [`rules`]: destination → rule (F-1 to F-4);
//! - [`service`]: a service's plan and the pools that it may choose from;
//! - [`maglev`]: a hash → the member of a pool (S-2 to S-5);
//! - [`slot`]: backend slots, their epochs (D-2), [`template`]: their outer headers (D-8), and
//!   [`backends`]: whose they are;
//! - [`probes`]: which backend a health check's packets are for (W-8);
//! - [`outcome`] and [`counters`]: how every packet ends, and how often (D-7); [`traffic`]: what
//!   each backend was given;
//! - [`publish`]: how a snapshot reaches the workers and is freed.
//!
//! This crate must not know DPDK, tokio, serde or files. `unsafe` stays in `publish.rs`.

#![deny(unsafe_code)]

pub mod backends;
pub mod counters;
pub mod flow;
pub mod maglev;
pub mod outcome;
pub mod plan;
pub mod port;
pub mod prefix;
pub mod probes;
#[allow(unsafe_code, reason = "one dereference; the argument is on the page of the module")]
pub mod publish;
pub mod rules;
pub mod service;
pub mod slot;
mod sync;
pub mod template;
pub mod time;
pub mod traffic;

pub use backends::Backends;
pub use counters::{Counters, WorkerCounters};
pub use flow::{Family, FieldSet, Flow, HashSeed, Key, Target};
pub use maglev::{Maglev, MaglevCache, Member};
pub use outcome::Outcome;
pub use plan::{ClassPlan, EarlierKeys, PacketClass, Plan};
pub use port::{MAX_PORTS, Mac, Port, PortId};
pub use prefix::PrefixMap;
pub use publish::{Publisher, Reader};
pub use rules::{Match, Rule, RuleId, RuleSpec, RuleTable};
pub use service::{Pool, Service, ServiceId, ZoneId};
pub use slot::{EpochAge, Lifetime, SlotEpochs, SlotId, SlotTable};
pub use template::Template;
pub use time::Tick;
pub use traffic::Traffic;

/// One immutable snapshot of everything that a worker reads (D-5).
#[derive(Debug, Default)]
pub struct Tables {
    /// Counts publications; for logs and tests, never for a decision.
    pub generation: u64,
    /// Keys the selection hash (D-6).
    pub seed: HashSeed,
    /// The ports, indexed by [`PortId`].
    pub ports: Box<[Port]>,
    /// The forwarding rules.
    pub rules: RuleTable,
    /// The services, indexed by [`ServiceId`]; `None` where an id is unused.
    pub services: Box<[Option<Service>]>,
    /// Backend slots: epochs and outer headers, indexed by [`SlotId`].
    pub slots: SlotTable,
    /// Backend address → slots, for ICMP errors about outer headers (S-7).
    pub backends: Backends,
    /// Where workers count what they give to each backend, by [`SlotId`].
    pub traffic: Traffic,
    /// Source prefix → client zone, longest match (Z-4).
    pub client_zones: PrefixMap<ZoneId>,
    /// Every outer source that we write: what comes from one in a tunnel is our own (N-5).
    pub tunnel_sources: Box<[std::net::IpAddr]>,
    /// The prefixes that outer sources are spread over (N-2): the same holds for them.
    pub tunnel_prefixes: Box<[ipnet::IpNet]>,
    /// The UDP ports that we send GUE to.
    pub gue_ports: Box<[u16]>,
}

impl Tables {
    /// The service with this id, if these Tables have it.
    #[inline]
    pub fn service(&self, id: ServiceId) -> Option<&Service> {
        self.services.get(usize::from(id.0))?.as_ref()
    }

    /// Whether we write outer headers with this source (N-5).
    #[inline]
    pub fn is_tunnel_source(&self, address: std::net::IpAddr) -> bool {
        self.tunnel_sources.contains(&address)
            || self.tunnel_prefixes.iter().any(|prefix| prefix.contains(&address))
    }
}
