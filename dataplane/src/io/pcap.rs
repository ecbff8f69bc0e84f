//! Captures as ports: DPDK's net_pcap, for `windrose pcap`.
//!
//! The worker is the same as in production. Around it: open a port on [`device`] with buffers of
//! [`POOL`], register [`dpdk::RxTimestamp`] before; then, for each packet,
//! [`DpdkIo::stage`](super::dpdk::DpdkIo::stage) gives its time in microseconds of the capture's
//! clock, and the worker takes one step at that time. The capture is at its end when `stage` gives
//! none; [`count`] says how many there should have been. OUT is complete when the port is dropped.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use dpdk::PoolConfig;
use pcap_file::PcapError;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};

/// Buffers that any captured frame fits into, in one piece: up to 65,407 bytes.
pub const POOL: PoolConfig = PoolConfig { buffers: 511, room: 65_407, cache: 0 };

/// Why a capture cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// It cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no capture, or is damaged.
    #[error("{}: after {packets} packets: {source}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// How many packets before that place are whole.
        packets: u64,
        /// What is wrong.
        source: PcapError,
    },
    /// DPDK's device strings cannot carry this name.
    #[error("{}: a name with a comma or a bracket cannot be given to DPDK; rename the file", path.display())]
    Name {
        /// The file.
        path: PathBuf,
    },
}

/// The device string of a port that receives `input` and writes what it sends into `output`.
/// Without `input` it never receives.
///
/// # Errors
/// [`CaptureError::Name`].
pub fn device(number: usize, input: Option<&Path>, output: &Path) -> Result<String, CaptureError> {
    let rx = input.map(argument).transpose()?.map(|path| format!(",rx_pcap={path}"));
    let tx = argument(output)?;
    Ok(format!("net_pcap{number}{},tx_pcap={tx}", rx.unwrap_or_default()))
}

fn argument(path: &Path) -> Result<&str, CaptureError> {
    let good = path.to_str().filter(|text| !text.contains([',', '[', ']', '"', '\0']));
    good.ok_or_else(|| CaptureError::Name { path: path.into() })
}

/// How many packets a capture has, pcap or pcapng.
///
/// # Errors
/// [`CaptureError::Open`] and [`CaptureError::Format`].
pub fn count(path: &Path) -> Result<u64, CaptureError> {
    let open = |source| CaptureError::Open { path: path.into(), source };
    let mut magic = [0; 4];
    let read = File::open(path).map_err(open)?.read(&mut magic).map_err(open)?;
    let file = BufReader::new(File::open(path).map_err(open)?);
    let mut packets = 0;
    // Pcapng's first block has a type that reads the same in either byte order.
    let done = if read == 4 && magic == [0x0a, 0x0d, 0x0d, 0x0a] {
        count_pcapng(file, &mut packets)
    } else {
        count_pcap(file, &mut packets)
    };
    done.map_err(|source| CaptureError::Format { path: path.into(), packets, source })?;
    Ok(packets)
}

fn count_pcap(file: BufReader<File>, packets: &mut u64) -> Result<(), PcapError> {
    let mut reader = PcapReader::new(file)?;
    while let Some(packet) = reader.next_raw_packet() {
        packet?;
        *packets += 1;
    }
    Ok(())
}

fn count_pcapng(file: BufReader<File>, packets: &mut u64) -> Result<(), PcapError> {
    let mut reader = PcapNgReader::new(file)?;
    while let Some(block) = reader.next_block() {
        let packet =
            matches!(block?, Block::EnhancedPacket(_) | Block::SimplePacket(_) | Block::Packet(_));
        *packets += u64::from(packet);
    }
    Ok(())
}
