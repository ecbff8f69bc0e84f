//! Captures as ports: DPDK's net_pcap, for `windrose pcap`.
//!
//! The worker is the same as in production. Around it: open a port on [`device`] with buffers of
//! [`POOL`], register [`dpdk::RxTimestamp`] before; then, for each packet,
//! [`DpdkIo::stage`](super::dpdk::DpdkIo::stage) gives its time in microseconds of the capture's
//! clock, and the worker takes one step at that time. The capture is at its end when `stage` gives
//! none; [`count`] says how many there should have been. OUT is complete when the port is dropped.

use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dpdk::PoolConfig;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, PcapError};

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
    #[error("{}: after {packets} packets: {}", path.display(), damage(source))]
    Format {
        /// The file.
        path: PathBuf,
        /// How many packets before that place are whole.
        packets: u64,
        /// What is wrong.
        source: PcapError,
    },
    /// Its packets do not begin with an Ethernet header.
    #[error("{}: its link type is {link:?}, but only Ethernet can be sent through a port", path.display())]
    Link {
        /// The file.
        path: PathBuf,
        /// What they begin with.
        link: DataLink,
    },
    /// Writing would destroy what is to be read.
    #[error("{}: it is both the capture to read and the one to write", path.display())]
    SameFile {
        /// The file.
        path: PathBuf,
    },
    /// There is nowhere to write to.
    #[error("{}: there is no folder {}", path.display(), folder.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// Where it should be.
        folder: PathBuf,
    },
    /// DPDK's device strings cannot carry this name.
    #[error("{}: a name with a comma or a bracket cannot be given to DPDK; rename the file", path.display())]
    Name {
        /// The file.
        path: PathBuf,
    },
}

/// What is wrong with a capture, and what helps.
fn damage(error: &PcapError) -> String {
    match error {
        PcapError::IncompleteBuffer | PcapError::IoError(_) => {
            "it ends in the middle of something; `editcap IN OUT` keeps what is whole".into()
        }
        PcapError::InvalidField(_) => {
            format!("{error}; give a pcap or pcapng file, as tcpdump and Wireshark write them")
        }
        _ => error.to_string(),
    }
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

/// Refuses to write into the capture that is read, by whatever name.
///
/// # Errors
/// [`CaptureError::SameFile`].
pub fn apart(input: &Path, output: &Path) -> Result<(), CaptureError> {
    let identity = |path| std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    match identity(input) {
        Some(file) if identity(output) == Some(file) => {
            Err(CaptureError::SameFile { path: output.into() })
        }
        _ => Ok(()),
    }
}

/// Refuses an output whose folder is not there: DPDK would only say that it cannot attach.
///
/// # Errors
/// [`CaptureError::NoFolder`].
pub fn has_folder(output: &Path) -> Result<(), CaptureError> {
    match output.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(CaptureError::NoFolder { path: output.into(), folder: folder.into() })
        }
        _ => Ok(()),
    }
}

/// What a capture holds.
#[derive(Default)]
struct Contents {
    packets: u64,
    /// A link type that is not Ethernet.
    other_link: Option<DataLink>,
}

impl Contents {
    fn link(&mut self, link: DataLink) {
        if link != DataLink::ETHERNET {
            self.other_link = Some(link);
        }
    }
}

/// How many packets a capture has, pcap or pcapng.
///
/// # Errors
/// [`CaptureError::Open`], [`CaptureError::Format`] and [`CaptureError::Link`].
pub fn count(path: &Path) -> Result<u64, CaptureError> {
    let open = |source| CaptureError::Open { path: path.into(), source };
    let mut magic = [0; 4];
    let read = File::open(path).map_err(open)?.read(&mut magic).map_err(open)?;
    let file = BufReader::new(File::open(path).map_err(open)?);
    let mut contents = Contents::default();
    // Pcapng's first block has a type that reads the same in either byte order.
    let done = if read == 4 && magic == [0x0a, 0x0d, 0x0d, 0x0a] {
        read_pcapng(file, &mut contents)
    } else {
        read_pcap(file, &mut contents)
    };
    let Contents { packets, other_link } = contents;
    done.map_err(|source| CaptureError::Format { path: path.into(), packets, source })?;
    match other_link {
        Some(link) => Err(CaptureError::Link { path: path.into(), link }),
        None => Ok(packets),
    }
}

fn read_pcap(file: BufReader<File>, contents: &mut Contents) -> Result<(), PcapError> {
    let mut reader = PcapReader::new(file)?;
    contents.link(reader.header().datalink);
    while let Some(packet) = reader.next_raw_packet() {
        packet?;
        contents.packets += 1;
    }
    Ok(())
}

fn read_pcapng(file: BufReader<File>, contents: &mut Contents) -> Result<(), PcapError> {
    let mut reader = PcapNgReader::new(file)?;
    while let Some(block) = reader.next_block() {
        match block? {
            Block::InterfaceDescription(interface) => contents.link(interface.linktype),
            Block::EnhancedPacket(_) | Block::SimplePacket(_) | Block::Packet(_) => {
                contents.packets += 1;
            }
            _ => {}
        }
    }
    Ok(())
}
