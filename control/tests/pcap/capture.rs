//! Captures, configurations, and the command.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use etherparse::{IpHeaders, IpNumber, Ipv4Header, PacketBuilder};
use pcap_file::pcap::{PcapPacket, PcapReader, PcapWriter};
use tempfile::TempDir;

pub(crate) const CLIENT4: [u8; 4] = [198, 51, 100, 7];
pub(crate) const VIP4: [u8; 4] = [203, 0, 113, 10];
pub(crate) const CLIENT6: [u8; 16] = [0x20, 1, 0xD, 0xB8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];
pub(crate) const VIP6: [u8; 16] = [0x20, 1, 0xD, 0xB8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10];

/// One VIP of each family, all protocols, one backend at `backend`.
pub(crate) fn config(encapsulation: &str, backend: &str) -> String {
    format!(
        r#"
[dataplane]
conntrack_entries = 1000
conntrack_entries_v6 = 1000
hash_seed = "000102030405060708090a0b0c0d0e0f"
[[port]]
name = "uplink"
device = "net_null0"
addresses = ["10.0.0.2/24", "2001:db8::2/64"]
gateways = ["10.0.0.1", "2001:db8::1"]
neighbours = {{ "10.0.0.1" = "02:00:00:00:00:99" }}
host_interface = "wr0"
[encapsulation]
source = ["10.0.0.2", "2001:db8::2"]
{encapsulation}
[[service]]
name = "web"
initial_health = "healthy"
[[service.group]]
name = "a"
backends = [{{ name = "a1", address = "{backend}" }}]
[[forwarding_rule]]
name = "v4"
address = "203.0.113.10"
protocol = "L3_DEFAULT"
ports = "ALL"
service = "web"
[[forwarding_rule]]
name = "v6"
address = "2001:db8:2::10"
protocol = "L3_DEFAULT"
ports = "ALL"
service = "web"
"#
    )
}

/// A directory with a configuration and a capture.
pub(crate) struct Desk {
    pub directory: TempDir,
}

impl Desk {
    pub(crate) fn new(config: &str, frames: &[Vec<u8>]) -> Self {
        let desk = Self { directory: tempfile::tempdir().expect("a directory") };
        std::fs::write(desk.path("windrose.toml"), config).expect("written");
        write(&desk.path("in.pcap"), frames);
        desk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs `windrose pcap` with more arguments.
    pub(crate) fn run(&self, more: &[&str]) -> Output {
        self.run_into("out.pcap", more)
    }

    /// The same with another OUT.
    pub(crate) fn run_into(&self, output: &str, more: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_windrose"))
            .current_dir(self.directory.path())
            .args(["pcap", "--config", "windrose.toml", "in.pcap", output])
            .args(more)
            .output()
            .expect("runs")
    }

    /// What was written.
    pub(crate) fn sent(&self) -> Vec<Vec<u8>> {
        let mut reader =
            PcapReader::new(File::open(self.path("out.pcap")).expect("opens")).expect("a capture");
        let mut frames = Vec::new();
        while let Some(packet) = reader.next_packet() {
            frames.push(packet.expect("a packet").data.into_owned());
        }
        frames
    }
}

fn write(path: &Path, frames: &[Vec<u8>]) {
    let mut writer = PcapWriter::new(File::create(path).expect("creates")).expect("a capture");
    for (frame, at) in frames.iter().zip(1..) {
        let packet = PcapPacket::new(Duration::from_millis(at), frame.len() as u32, frame);
        writer.write_packet(&packet).expect("written");
    }
}

/// A TCP segment, a UDP datagram and an echo request of each family.
pub(crate) fn packets(payload: &[u8]) -> Vec<Vec<u8>> {
    let link = || PacketBuilder::ethernet2([2, 0, 0, 0, 0, 11], [2, 0, 0, 0, 0, 10]);
    let v4 = || link().ipv4(CLIENT4, VIP4, 61);
    let v6 = || link().ipv6(CLIENT6, VIP6, 61);
    let mut frames: [Vec<u8>; 6] = Default::default();
    let [a, b, c, d, e, f] = &mut frames;
    v4().tcp(40000, 80, 7, 1024).syn().write(a, payload).expect("built");
    v4().udp(40000, 80).write(b, payload).expect("built");
    v4().icmpv4_echo_request(5, 1).write(c, payload).expect("built");
    v6().tcp(40000, 80, 7, 1024).syn().write(d, payload).expect("built");
    v6().udp(40000, 80).write(e, payload).expect("built");
    v6().icmpv6_echo_request(5, 1).write(f, payload).expect("built");
    frames.into()
}

/// An IPv4 datagram from this port; with or without "don't fragment".
pub(crate) fn datagram(port: u16, payload: &[u8], dont_fragment: bool) -> Vec<u8> {
    let length = (8 + payload.len()) as u16;
    let mut ip = Ipv4Header::new(length, 61, IpNumber::UDP, CLIENT4, VIP4).expect("it fits");
    ip.dont_fragment = dont_fragment;
    ip.identification = port;
    let link = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 11], [2, 0, 0, 0, 0, 10]);
    let mut frame = Vec::new();
    let ip = link.ip(IpHeaders::Ipv4(ip, Default::default()));
    ip.udp(port, 80).write(&mut frame, payload).expect("built");
    frame
}

/// Another byte in an IPv4 header of a frame, and the checksum that goes with it.
pub(crate) fn bend(frame: &mut [u8], at: usize, byte: u8) {
    frame[at] = byte;
    let header = Ipv4Header::from_slice(&frame[14..]).expect("an IPv4 header").0;
    frame[24..26].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
}
