//! Health checks: asked on the background threads, their news told to the control thread.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use control::health::checker::Checker;
use control::health::probe::Prober;
use control::health::probe::dial::{Dialer, Exit, Exits, LinkUp};
use control::health::{At, News, Row, Summary, Wanted, wanted};
use control::model::{Config, Port};
use control::netlink::Kernel;
use control::netlink::probe_way::{ProbeWay, mark};
use control::plan::wiring::Wiring;
use control::policy::weights::Fault;
use control::state::{Change, State, Who};
use dataplane::icmp::PathMtus;
use parking_lot::Mutex;
use rustix::process::{Resource, getrlimit, setrlimit};
use tables::probes::ProbeSlots;
use tables::{PortId, SlotId};
use tokio::runtime::Handle;

use crate::events::Bell;
use crate::watch::Seen;

/// A probe or two may get lost meanwhile.
const KEEP_EVERY: Duration = Duration::from_secs(1);

/// What runs the checks of one appliance.
pub(crate) struct Checks {
    checker: Arc<Checker>,
    inbox: Arc<Mutex<Vec<News>>>,
    hints: Hints,
    dialer: Dialer,
    /// Of what file the dialer knows the ports.
    config: Arc<Config>,
    /// What leads to backends.
    wiring: Wiring,
    /// Whether links are up, by port.
    links: Vec<LinkUp>,
    /// Of the ports with a host interface, by number; made when the first check of a VIP is wanted.
    ways: Option<Vec<(u8, ProbeWay)>>,
    /// When it is looked after them next.
    keep: Duration,
}

impl Checks {
    /// Starts without anything to ask. `bell` rings when there is news.
    pub(crate) fn start(
        config: &Arc<Config>,
        kernel: Option<Arc<Kernel>>,
        (slots, paths): (Arc<ProbeSlots>, Arc<PathMtus>),
        (background, bell): (&Handle, Bell),
        start: Instant,
    ) -> Self {
        let dialer = Dialer { exits: Arc::default(), slots };
        let inbox = Arc::new(Mutex::new(Vec::new()));
        let put = Arc::clone(&inbox);
        let tell = move |news: Vec<News>| {
            put.lock().extend(news);
            bell.ring();
        };
        let checker = Arc::new(Checker::new(Prober::new(dialer.clone()), most(), start, tell));
        background.spawn(Arc::clone(&checker).run());
        let checks = Self {
            checker,
            inbox,
            hints: Hints::new(paths),
            dialer,
            config: Arc::clone(config),
            wiring: Wiring { kernel, ..Wiring::default() },
            links: config.ports.iter().map(|_| LinkUp::default()).collect(),
            ways: None,
            keep: Duration::ZERO,
        };
        checks.know_ports();
        checks
    }

    /// From now on what this state wants to know is asked.
    pub(crate) fn watch(&mut self, state: &State) {
        let wanted = wanted(state);
        if !Arc::ptr_eq(&self.config, state.config()) {
            self.config = Arc::clone(state.config());
            self.know_ports();
            self.renew_ways();
        }
        if self.ways.is_none() && wanted.iter().any(asks_vips) {
            self.ways = Some(with_host(&self.config).map(way).collect());
            self.renew_ways();
        }
        self.checker.watch(wanted);
    }

    /// The ports have the addresses of this file now, and its neighbours and gateways count.
    fn know_ports(&self) {
        let link = |number: u8| self.links.get(usize::from(number)).cloned().unwrap_or_default();
        let all = with_host(&self.config).map(|(n, port)| exit(n, port, link(n))).collect();
        let (config, wiring) = (Arc::clone(&self.config), self.wiring.clone());
        let leading = move |backend| {
            let hops = wiring.ways(&config, backend).hops;
            hops.iter().map(|hop| hop.port).collect()
        };
        *self.dialer.exits.write() = Arc::new(Exits { all, leading: Box::new(leading) });
    }

    /// Makes the ways of probes again, where there are some: the kernel may have forgotten them.
    pub(crate) fn renew_ways(&mut self) {
        for (number, way) in self.ways.iter_mut().flatten() {
            if let Some(port) = self.config.ports.get(usize::from(*number)) {
                renew(way, port);
            }
        }
    }

    /// Puts back, now and then, what of the ways somebody has taken away without a word.
    pub(crate) fn keep_ways(&mut self, now: Duration) {
        if now < self.keep {
            return;
        }
        self.keep = now + KEEP_EVERY;
        for (_, way) in self.ways.iter().flatten() {
            if let Err(error) = way.keep() {
                tracing::debug!("the way of probes is not whole: {error}");
            }
        }
    }

    /// Probes leave by ports whose links are up.
    pub(crate) fn follow(&self, links: &[Seen]) {
        for link in links {
            if let Some(own) = self.links.get(link.port) {
                own.set(link.up);
            }
        }
    }

    /// What has changed since the last time, said in the log, and as the state takes it.
    pub(crate) fn take(&self) -> Vec<Change> {
        let news = std::mem::take(&mut *self.inbox.lock());
        news.iter().for_each(log);
        news.iter().filter_map(News::change).collect()
    }

    /// Has those asked at once whose tunnels routers complain about, if it is time.
    pub(crate) fn take_hints(&mut self, state: &State, now: Duration) {
        let slots = self.hints.take(state, now);
        if !slots.is_empty() {
            self.checker.hurry(&slots);
        }
    }

    /// Says what is known whenever it is asked, on whatever thread.
    pub(crate) fn rows(&self) -> impl Fn() -> Vec<Row> + Send + Sync + use<> {
        let checker = Arc::clone(&self.checker);
        move || checker.rows()
    }

    /// What is known, for people.
    pub(crate) fn summary(&self) -> Summary {
        Summary(self.checker.rows())
    }
}

fn with_host(config: &Config) -> impl Iterator<Item = (u8, &Port)> {
    (0..).zip(&config.ports).filter(|(_, port)| !port.host_interface.is_empty())
}

fn exit(number: u8, port: &Port, link: LinkUp) -> Exit {
    Exit {
        port: PortId(number),
        interface: port.host_interface.clone(),
        mark: mark(number),
        addresses: port.addresses.iter().map(|address| address.addr()).collect(),
        link,
    }
}

fn asks_vips(wanted: &Wanted) -> bool {
    matches!(wanted.question.at, At::Vips { .. })
}

fn way((number, port): (u8, &Port)) -> (u8, ProbeWay) {
    (number, ProbeWay::new(number, &port.host_interface))
}

/// Without it the probes of this port say that they cannot leave.
fn renew(way: &mut ProbeWay, port: &Port) {
    let has = |four| port.addresses.iter().map(|a| a.addr()).any(|a: IpAddr| a.is_ipv4() == four);
    if let Err(error) = way.make([has(true), has(false)]) {
        // Whoever set it down knows; with the interface the way is there again.
        if error.kind() == std::io::ErrorKind::NetworkDown {
            return;
        }
        let reason =
            format!("{error}: the kernel needs policy routing, and this process CAP_NET_ADMIN");
        tracing::error!(port = %port.name, reason, "no way for probes to VIPs");
    }
}

/// Each probe is a file; half of those that the process may open are for probes.
fn most() -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where that is refused, the old limit holds.
    let _ = setrlimit(Resource::Nofile, limit);
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(files / 2).unwrap_or(usize::MAX).clamp(16, 2048)
}

fn log(news: &News) {
    match news {
        News::Verdict { who, was, healthy, reason } => verdict(who, *was, *healthy, reason),
        // Said once it is in force, with what it was.
        News::Weight { .. } => {}
        News::Header { who, fault } => header(who, *fault),
        News::Unasked { who: Who { service, backend, .. }, reason } => {
            tracing::error!(%service, %backend, reason, "cannot be checked; its health stays");
        }
    }
}

fn verdict(who: &Who, was: Option<bool>, healthy: bool, reason: &str) {
    let Who { service, backend, address } = who;
    let word = |healthy| if healthy { "healthy" } else { "unhealthy" };
    let (from, to) = (was.map_or("unknown", word), word(healthy));
    if healthy {
        tracing::info!(%service, %backend, %address, from, to, reason, "health changed");
    } else {
        tracing::warn!(%service, %backend, %address, from, to, reason, "health changed");
    }
}

fn header(Who { service, backend, .. }: &Who, fault: Option<Fault>) {
    match fault {
        Some(fault) => {
            tracing::warn!(%service, %backend, reason = %fault, "no weight: the last one stays");
        }
        None => tracing::info!(%service, %backend, "weights are good again"),
    }
}

/// Routers' complaints about tunnels, as hints that a backend may have failed.
struct Hints {
    paths: Arc<PathMtus>,
    counted: HashMap<SlotId, u32>,
    next: Duration,
}

impl Hints {
    const EVERY: Duration = Duration::from_secs(1);

    fn new(paths: Arc<PathMtus>) -> Self {
        Self { paths, counted: HashMap::new(), next: Duration::ZERO }
    }

    /// Those that were complained about since the last time.
    fn take(&mut self, state: &State, now: Duration) -> Vec<SlotId> {
        if now < self.next {
            return Vec::new();
        }
        self.next = now + Self::EVERY;
        let slots = state.services().flat_map(|s| &s.backends).map(|b| b.slot);
        let (paths, counted) = (&self.paths, &mut self.counted);
        let more = slots.filter(|slot| {
            let errors = paths.errors(*slot);
            errors != counted.insert(*slot, errors).unwrap_or(0)
        });
        more.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logging::lines;

    #[test]
    fn health_is_said_with_whose_it_is_what_it_was_and_why() {
        let who = Who {
            service: "web".into(),
            backend: "rack-a/a1".into(),
            address: IpAddr::from([10, 1, 0, 11]),
        };
        let weight = News::Weight { who: who.clone(), weight: 7 };
        let verdict = |was, healthy, reason: &str| News::Verdict {
            who: who.clone(),
            was,
            healthy,
            reason: reason.into(),
        };
        let news = [
            verdict(None, true, "HTTP 200"),
            verdict(Some(true), false, "HTTP 503"),
            weight,
            News::Header { who: who.clone(), fault: None },
            News::Unasked { who: who.clone(), reason: "cannot probe: no route".into() },
        ];
        let expected = "
 INFO health changed service=web backend=rack-a/a1 address=10.1.0.11 from=\"unknown\" to=\"healthy\" reason=\"HTTP 200\"
 WARN health changed service=web backend=rack-a/a1 address=10.1.0.11 from=\"healthy\" to=\"unhealthy\" reason=\"HTTP 503\"
 INFO weights are good again service=web backend=rack-a/a1
ERROR cannot be checked; its health stays service=web backend=rack-a/a1 reason=\"cannot probe: no route\"
";
        assert_eq!(lines(|| news.iter().for_each(log)), expected.trim_start_matches('\n'));
    }
}
