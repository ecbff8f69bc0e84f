//! `windrose pcap`: a capture through one real worker.

mod io;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use control::model::Config;
use control::plan::wiring::Wiring;
use control::reload::{Controller, Kept};
use control::state::Clock;
use dataplane::encap::Identifiers;
use dataplane::fragment::{FragmentTable, Fragments};
use dataplane::icmp::{Messenger, PathMtus};
use dataplane::io::dpdk::{DeviceQueues, DpdkIo};
use dataplane::io::pcap::{self, CaptureError};
use dataplane::probe::Probes;
use dataplane::track::{ConnectionTable, InsertLimit, Pages, TableKey, Tracker};
use dataplane::waiting::Waiting;
use dataplane::worker::Worker;
use dpdk::{Eal, EalConfig, HugePages, Mempool, Port, PortConfig, RxTimestamp};
use tables::publish::Publisher;
use tables::{Counters, Mac, PortId, Tick};

use crate::counters::Summary;
use crate::{ConfigFile, check, exit, say};
use io::CaptureIo;

#[derive(clap::Args)]
#[command(after_help = "\
Health is initial_health, time is the capture's own, and any destination MAC is taken. A next hop
that the configuration does not give is taken as 02:00:00:00:00:01.

Example:
  windrose pcap --config ./windrose.toml in.pcap out.pcap")]
pub(crate) struct Arguments {
    #[command(flatten)]
    file: ConfigFile,
    /// The port that the capture arrives at; needed where there are several
    #[arg(long, value_name = "NAME")]
    port: Option<String>,
    /// The capture to read, pcap or pcapng
    input: PathBuf,
    /// The capture to write
    output: PathBuf,
}

/// Why a capture cannot be sent through.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Port(String),
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error(transparent)]
    Dpdk(#[from] dpdk::Error),
    #[error("cannot map the connection table: {0}")]
    Connections(std::io::Error),
    #[error(transparent)]
    Control(#[from] Kept),
    #[error("{received} of the {expected} packets of the capture were received")]
    Short { received: u64, expected: u64 },
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Self::Port(_) => exit::USAGE,
            Self::Control(_) => exit::CONFIG,
            _ => exit::SYSTEM,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let loaded = match check::load_off_the_wire(&arguments.file) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    match send_through(arguments, Arc::new(loaded.config)) {
        Ok(counters) => {
            say::out(Summary { counters: &counters, losses: "" });
            ExitCode::SUCCESS
        }
        Err(why) => exit::with(why.code(), &why),
    }
}

fn send_through(arguments: &Arguments, config: Arc<Config>) -> Result<Arc<Counters>, Failure> {
    let input = input_port(&config, arguments.port.as_deref())?;
    pcap::apart(&arguments.input, &arguments.output)?;
    pcap::has_folder(&arguments.output)?;
    let expected = pcap::count(&arguments.input)?;
    let eal = Eal::start(&eal_config(arguments)?)?;
    let clock = RxTimestamp::register(&eal)?;
    let counters = Arc::new(Counters::new(1));
    let (dpdk, mac) = open(&eal, &device(arguments)?)?;
    let mut worker = worker(dpdk, mac, config, input, Arc::clone(&counters))?;
    let received = replay(&mut worker, &clock);
    if received < expected {
        return Err(Failure::Short { received, expected });
    }
    Ok(counters)
}

fn input_port(config: &Config, name: Option<&str>) -> Result<PortId, Failure> {
    let known: Vec<_> = config.ports.iter().map(|p| &*p.name).collect();
    let place = match (name, known.len()) {
        (Some(name), _) => known.iter().position(|known| *known == name),
        (None, 1) => Some(0),
        (None, _) => None,
    };
    let names = known.join(", ");
    let place =
        place.ok_or_else(|| Failure::Port(format!("--port NAME must be one of: {names}")))?;
    Ok(PortId(place as u8))
}

fn worker(
    dpdk: DpdkIo,
    mac: Mac,
    config: Arc<Config>,
    input: PortId,
    counters: Arc<Counters>,
) -> Result<Worker<CaptureIo>, Failure> {
    let has_host = !config.ports[usize::from(input.0)].host_interface.is_empty();
    let wiring = Wiring {
        macs: vec![mac; config.ports.len()],
        any_mac: true,
        workers: 0,
        assumed_neighbour: Some(Mac([2, 0, 0, 0, 0, 1])),
        kernel: None,
    };
    let connections = ConnectionTable::new(
        config.dataplane.conntrack_entries,
        config.dataplane.conntrack_entries_v6,
        Pages::Off,
        TableKey::random(),
    );
    let fragments = FragmentTable::new(FragmentTable::ENTRIES, TableKey::random(), Tick::LENGTH);
    let clock = Clock { tick_length: Tick::LENGTH };
    let (_, tables) = Controller::new(config, wiring, clock, Duration::ZERO)?;
    let publisher = Publisher::new(tables, 1);
    let connections = Arc::new(connections.map_err(Failure::Connections)?);
    Ok(Worker {
        io: CaptureIo { dpdk, input, has_host },
        tables: publisher.reader("worker"),
        fragments: Fragments::new(Arc::new(fragments)),
        tracker: Tracker::new(connections, InsertLimit::per_tick(0)),
        counters,
        number: 0,
        identifiers: Identifiers::default(),
        waiting: Waiting::new(Tick::LENGTH),
        icmp: Messenger::new(Arc::new(PathMtus::new(Tick::LENGTH)), Tick::LENGTH),
        probes: Probes::default(),
        observer: (),
        batch: Default::default(),
    })
}

fn device(arguments: &Arguments) -> Result<String, CaptureError> {
    pcap::device(0, Some(&arguments.input), &arguments.output)
}

fn eal_config(arguments: &Arguments) -> Result<EalConfig, CaptureError> {
    Ok(EalConfig {
        memory: 128,
        hugepages: HugePages::Off,
        devices: vec![device(arguments)?],
        ..EalConfig::default()
    })
}

fn open(eal: &Eal, device: &str) -> Result<(DpdkIo, Mac), Failure> {
    let pool = Mempool::new(eal, "frames", &pcap::POOL)?;
    let mut port = Port::open(eal, device, &pool, &PortConfig::default())?;
    let mac = Mac(port.mac()?);
    let queues =
        port.split().into_iter().map(|(rx, tx)| DeviceQueues::one(PortId(0), rx, tx, None));
    Ok((DpdkIo::new(queues.collect(), pool), mac))
}

/// Each packet at its own time, which never goes back; returns how many there were. Fragments
/// that wait for more than the last packet have waited in vain.
fn replay(worker: &mut Worker<CaptureIo>, clock: &RxTimestamp) -> u64 {
    let mut received = 0;
    let mut first = None;
    let mut now = Duration::ZERO;
    while let Some(time) = worker.io.stage(clock) {
        let since_first = time.saturating_sub(*first.get_or_insert(time));
        now = now.max(Duration::from_micros(since_first));
        worker.step(Tick::after(now, Tick::LENGTH));
        received += 1;
    }
    while worker.step(Tick::after(now, Tick::LENGTH)) > 0 {}
    worker.finish();
    received
}
