//! DPDK and its ports, as the configuration asks for them.

use std::sync::Arc;

use control::model::{BondMode, Config, DeviceUse, Hugepages};
use dpdk::device::room;
use dpdk::{Eal, EalConfig, HugePages, Mempool, PoolConfig, Port, PortConfig, RxQueue, TxQueue};
use tables::{Mac, PortId};

use crate::claim::Claim;
use crate::failure::Failure;
use crate::watch::Watch;

/// DPDK, started, and its ports, open.
pub(crate) struct Ports {
    pub eal: Eal,
    pub pool: Mempool,
    /// Every device once.
    pub devices: Vec<OpenDevice>,
    /// Each port's own Ethernet address.
    pub macs: Vec<Mac>,
    /// What they report.
    pub watch: Watch,
    /// While we have these no other process drives the devices.
    pub claims: Vec<Claim>,
}

/// One device's queues, and what they are for.
pub(crate) struct OpenDevice {
    /// A pair for each worker.
    pub queues: Vec<(RxQueue, TxQueue)>,
    /// The number and the VLAN of each of its ports.
    pub ports: Vec<(PortId, u16)>,
    /// See [`DeviceQueues::speaks`](dataplane::io::dpdk::DeviceQueues::speaks).
    pub speaks: bool,
}

/// Starts DPDK and opens every device with one queue pair for each worker.
pub(crate) fn open(config: &Config) -> Result<Ports, Failure> {
    let uses = config.devices();
    let driven = uses.iter().flat_map(DeviceUse::driven);
    let claims = driven.map(Claim::of).collect::<Result<_, _>>()?;
    let eal = Eal::start(&eal_config(config))?;
    let pool = Mempool::new(&eal, "frames", &pool_config(config, &eal)?)?;
    let mut devices = Vec::new();
    let mut macs = vec![Mac::default(); config.ports.len()];
    let mut watched = Vec::new();
    for used in &uses {
        let mut port = open_one(used, &eal, &pool)?;
        let mac = Mac(port.mac()?);
        used.ports.iter().for_each(|place| macs[*place] = mac);
        devices.push(OpenDevice {
            queues: port.split(),
            ports: used.ports.iter().map(|i| (PortId(*i as u8), config.ports[*i].vlan)).collect(),
            speaks: used.bond.is_some_and(|bond| bond.mode == BondMode::Lacp),
        });
        let names = used.ports.iter().map(|i| (*i, Arc::clone(&config.ports[*i].name)));
        watched.push((names.collect(), port));
    }
    Ok(Ports { eal, pool, devices, macs, watch: Watch::new(watched), claims })
}

fn open_one(used: &DeviceUse<'_>, eal: &Eal, pool: &Mempool) -> Result<Port, dpdk::Error> {
    let config =
        PortConfig { queues: eal.workers() as u16, mtu: used.mtu, ..PortConfig::default() };
    let Some(bond) = used.bond else { return Port::open(eal, used.device, pool, &config) };
    let mode = match bond.mode {
        BondMode::Lacp => dpdk::BondMode::Lacp,
        BondMode::ActiveBackup => dpdk::BondMode::ActiveBackup,
        BondMode::BalanceXor => dpdk::BondMode::BalanceXor,
    };
    Port::open_bond(eal, used.device, mode, &bond.members, pool, &config)
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
        devices: driven(config).map(str::to_owned).collect(),
        extra_args: config.dataplane.eal_args.clone(),
    }
}

/// Every device that DPDK drives.
fn driven(config: &Config) -> impl Iterator<Item = &str> {
    config.devices().into_iter().flat_map(|used| used.driven())
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
    let held = driven(config).count() as u32 * workers * per_queue_pair;
    let default = PoolConfig::default();
    let buffers = held + workers * (2 * default.cache + ON_THE_WAY);
    let uses = config.devices();
    let mtus = uses.iter().flat_map(|used| used.driven().into_iter().map(|d| (d, used.mtu)));
    let rooms = mtus.map(|(device, mtu)| room(device, mtu));
    Ok(PoolConfig {
        // A pool is best at one less than a power of two.
        buffers: buffers.next_power_of_two() - 1,
        room: rooms.collect::<Result<Vec<_>, _>>()?.into_iter().fold(default.room, u16::max),
        ..default
    })
}
