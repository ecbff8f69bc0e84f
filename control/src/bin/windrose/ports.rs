//! DPDK and its ports, as the configuration asks for them.

use control::model::{Config, Hugepages};
use dpdk::device::room;
use dpdk::{Eal, EalConfig, HugePages, Mempool, PoolConfig, Port, PortConfig, RxQueue, TxQueue};
use tables::Mac;

use crate::claim::Claim;
use crate::failure::Failure;
use crate::watch::Watch;

/// DPDK, started, and its ports, open.
pub(crate) struct Ports {
    pub eal: Eal,
    pub pool: Mempool,
    /// By port, then by worker.
    pub queues: Vec<Vec<(RxQueue, TxQueue)>>,
    /// Each port's own Ethernet address.
    pub macs: Vec<Mac>,
    /// What they report.
    pub watch: Watch,
    /// While we have these no other process drives the devices.
    pub claims: Vec<Claim>,
}

/// Starts DPDK and opens every `[[port]]` with one queue pair for each worker.
pub(crate) fn open(config: &Config) -> Result<Ports, Failure> {
    let claims = config.ports.iter().map(|p| Claim::of(&p.device)).collect::<Result<_, _>>()?;
    let eal = Eal::start(&eal_config(config))?;
    let pool = Mempool::new(&eal, "frames", &pool_config(config, &eal)?)?;
    let mut queues = Vec::new();
    let mut macs = Vec::new();
    let mut watched = Vec::new();
    for port in &config.ports {
        let queue_pairs =
            PortConfig { queues: eal.workers() as u16, mtu: port.mtu, ..PortConfig::default() };
        let mut open = Port::open(&eal, &port.device, &pool, &queue_pairs)?;
        macs.push(Mac(open.mac()?));
        queues.push(open.split());
        watched.push((port.name.clone(), open));
    }
    Ok(Ports { eal, pool, queues, macs, watch: Watch::new(watched), claims })
}

fn eal_config(config: &Config) -> EalConfig {
    EalConfig {
        cpus: workers(config),
        memory: config.dataplane.memory.div_ceil(1 << 20),
        hugepages: match config.dataplane.hugepages {
            Hugepages::Auto => HugePages::Auto,
            Hugepages::Require => HugePages::Require,
            Hugepages::Off => HugePages::Off,
        },
        devices: config.ports.iter().map(|p| p.device.clone()).collect(),
        extra_args: config.dataplane.eal_args.clone(),
    }
}

/// The workers' CPUs: those of the file, else every CPU but the first, which control keeps.
pub(crate) fn workers(config: &Config) -> Vec<usize> {
    let chosen: Vec<_> = config.dataplane.workers.iter().map(|cpu| usize::from(*cpu)).collect();
    if !chosen.is_empty() {
        return chosen;
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if cpus == 1 { vec![0] } else { (1..cpus).collect() }
}

/// Enough buffers that no queue starves another, whatever the queues hold.
fn pool_config(config: &Config, eal: &Eal) -> Result<PoolConfig, dpdk::Error> {
    const ON_THE_WAY: u32 = 1024;
    let port = PortConfig::default();
    let per_queue_pair = u32::from(port.rx_descriptors) + u32::from(port.tx_descriptors);
    let workers = eal.workers() as u32;
    let held = config.ports.len() as u32 * workers * per_queue_pair;
    let default = PoolConfig::default();
    let buffers = held + workers * (2 * default.cache + ON_THE_WAY);
    let rooms = config.ports.iter().map(|p| room(&p.device, p.mtu));
    Ok(PoolConfig {
        // A pool is best at one less than a power of two.
        buffers: buffers.next_power_of_two() - 1,
        room: rooms.collect::<Result<Vec<_>, _>>()?.into_iter().fold(default.room, u16::max),
        ..default
    })
}
