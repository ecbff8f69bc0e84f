//! Memory, CPUs, `/dev/net/tun`.

use super::{error, note, warning};
use crate::doctor::Finding;
use crate::doctor::facts::{Facts, Tun};
use crate::model::{Config, Hugepages, Idle};

/// What DPDK and the connection table take, MB. Nothing without a port.
fn needed_mb(config: &Config, facts: &Facts) -> u64 {
    match config.ports.is_empty() {
        true => 0,
        false => config.dataplane.memory.div_ceil(1 << 20) + facts.connections_mb,
    }
}

/// Once it runs they are taken: what is free then says nothing.
pub(super) fn huge_pages(config: &Config, facts: &Facts) -> Vec<Finding> {
    let (needed, free) = (needed_mb(config, facts), facts.huge_pages_mb);
    if facts.running || free >= needed {
        return Vec::new();
    }
    let what = format!(
        "{free} MB of huge pages are free; memory and the connection table want {needed} MB"
    );
    let pages = needed.div_ceil(2);
    let reserve = format!("sysctl -w vm.nr_hugepages={pages} (pages of 2 MB)");
    match config.dataplane.hugepages {
        Hugepages::Off => Vec::new(),
        Hugepages::Require => vec![error("huge-pages", what, reserve)],
        Hugepages::Auto => vec![warning(
            "huge-pages",
            what + ": ordinary ones are taken for the rest, which is slower",
            reserve + ", or hugepages = \"off\" where speed does not matter",
        )],
    }
}

pub(super) fn memory(config: &Config, facts: &Facts) -> Vec<Finding> {
    let needed = needed_mb(config, facts).saturating_sub(facts.huge_pages_mb);
    if facts.running || needed <= facts.available_mb {
        return Vec::new();
    }
    let what = format!(
        "beside huge pages {needed} MB of memory are needed, and {} MB are available",
        facts.available_mb
    );
    let cure = "lower [dataplane] memory or conntrack_entries, or add memory".into();
    vec![error("memory", what, cure)]
}

/// That each worker's CPU exists is checked with the file.
pub(super) fn cpus(config: &Config, facts: &Facts) -> Vec<Finding> {
    let workers = &config.dataplane.workers;
    let online = &facts.online_cpus;
    let spins = config.dataplane.idle == Idle::Spin;
    if workers.is_empty() || online.is_empty() || !online.iter().all(|cpu| workers.contains(cpu)) {
        return Vec::new();
    }
    let what = "every CPU has a worker: none is left for control, health checks and the system";
    let cure = "take one out of [dataplane] workers";
    let finding = if spins { warning } else { note };
    vec![finding("cpus", what.into(), cure.into())]
}

pub(super) fn tun(config: &Config, facts: &Facts) -> Vec<Finding> {
    if config.ports.iter().all(|port| port.host_interface.is_empty()) {
        return Vec::new();
    }
    let cure = match facts.tun {
        Tun::Ready => return Vec::new(),
        Tun::Missing => "load the module (modprobe tun), or pass /dev/net/tun into the container",
        Tun::Denied => "run it as root, or give it CAP_NET_ADMIN and access to /dev/net/tun",
    };
    let what = "host interfaces need /dev/net/tun, which cannot be opened".into();
    vec![error("tun", what, cure.into())]
}
