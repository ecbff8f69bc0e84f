//! A capture in, a capture out, through DPDK's net_pcap.

use std::fs::File;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use arrayvec::ArrayVec;
use dataplane::batch::Batch;
use dataplane::io::dpdk::{DeviceQueues, DpdkIo};
use dataplane::io::{Io, pcap};
use dpdk::{Eal, EalConfig, Mempool, PoolConfig, Port, PortConfig, RxTimestamp};
use pcap_file::DataLink;
use pcap_file::pcap::{PcapPacket, PcapReader, PcapWriter};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionBlock;
use pcap_file::pcapng::blocks::simple_packet::SimplePacketBlock;
use tables::PortId;

/// Lengths around what drivers treat specially: smaller than Ethernet's least, larger than a usual
/// buffer, larger than a jumbo frame.
const LENGTHS: [usize; 4] = [60, 1514, 3000, 20_000];

/// DPDK starts once per process.
fn eal() -> &'static (Eal, RxTimestamp) {
    static EAL: OnceLock<(Eal, RxTimestamp)> = OnceLock::new();
    EAL.get_or_init(|| {
        let eal = Eal::start(&EalConfig { memory: 128, ..EalConfig::default() });
        let eal = eal.expect("DPDK starts");
        let clock = RxTimestamp::register(&eal).expect("mbufs have room");
        (eal, clock)
    })
}

fn frame(length: usize) -> Vec<u8> {
    (0..length).map(|i| i as u8).collect()
}

fn write_capture(path: &Path) {
    let mut writer = PcapWriter::new(File::create(path).unwrap()).unwrap();
    for (i, length) in LENGTHS.into_iter().enumerate() {
        let at = Duration::new(1_700_000_000 + i as u64, 250_000_000);
        let data = frame(length);
        writer.write_packet(&PcapPacket::new(at, length as u32, &data)).unwrap();
    }
}

fn read_capture(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = PcapReader::new(File::open(path).unwrap()).unwrap();
    std::iter::from_fn(|| reader.next_packet().map(|p| p.unwrap().data.into_owned())).collect()
}

#[test]
fn every_packet_comes_in_with_its_time_alone_and_whole_and_goes_out_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in.pcap"), directory.path().join("out.pcap"));
    write_capture(&input);
    assert_eq!(pcap::count(&input).unwrap(), 4);

    let device = pcap::device(0, Some(&input), &output).unwrap();
    let (eal, clock) = eal();
    let pool = Mempool::new(eal, "capture", &pcap::POOL).unwrap();
    let mut port = Port::open(eal, &device, &pool, &PortConfig::default()).unwrap();
    let (rx, tx) = port.split().remove(0);
    let mut io = DpdkIo::new(vec![DeviceQueues::one(PortId(0), rx, tx, None)], pool);

    let mut times = Vec::new();
    while let Some(time) = io.stage(clock) {
        times.push(time);
        let mut batch = Batch::default();
        io.receive(&mut batch);
        let mut frames: ArrayVec<_, 32> = batch.0.into_iter().map(|p| p.frame).collect();
        assert_eq!(frames.len(), 1);
        assert_eq!(frames[0].bytes(), frame(LENGTHS[times.len() - 1]));
        io.transmit(PortId(0), &mut frames);
        assert!(frames.is_empty());
    }
    let second = |i: u64| (1_700_000_000 + i) * 1_000_000 + 250_000;
    assert_eq!(times, [second(0), second(1), second(2), second(3)]);

    drop((io, port));
    assert_eq!(read_capture(&output), LENGTHS.map(frame));

    // A port that only writes never receives; several may be open at once.
    let other = pcap::device(1, None, &directory.path().join("other.pcap")).unwrap();
    let mut port = Port::open(eal, &other, &pool, &PortConfig::default()).unwrap();
    let (mut rx, _tx) = port.split().remove(0);
    assert_eq!(rx.receive(&mut ArrayVec::<_, 32>::new(), 32), 0);
}

#[test]
fn a_frame_larger_than_a_buffer_is_cut_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("in.pcap");
    write_capture(&input);
    let device = pcap::device(2, Some(&input), &directory.path().join("out.pcap")).unwrap();
    let (eal, _) = eal();
    let pool = PoolConfig { buffers: 127, room: 2048, cache: 0 };
    let pool = Mempool::new(eal, "small", &pool).unwrap();
    let mut port = Port::open(eal, &device, &pool, &PortConfig::default()).unwrap();
    let (mut rx, _tx) = port.split().remove(0);
    let mut frames = ArrayVec::<_, 32>::new();
    assert_eq!(rx.receive(&mut frames, 32), 4);
    for (got, length) in frames.iter().zip(LENGTHS) {
        assert_eq!(got.bytes(), frame(length.min(2048)));
    }
    drop(frames);
    assert_eq!(pool.free(), 127, "what was cut off is free again");
}

#[test]
fn packets_are_counted_in_both_formats() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("in.pcapng");
    let mut writer = PcapNgWriter::new(File::create(&path).unwrap()).unwrap();
    let interface =
        InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: 0, options: vec![] };
    writer.write_pcapng_block(interface).unwrap();
    for length in LENGTHS {
        let block = SimplePacketBlock { original_len: length as u32, data: frame(length).into() };
        writer.write_pcapng_block(block).unwrap();
    }
    drop(writer);
    assert_eq!(pcap::count(&path).unwrap(), 4);
}

#[test]
fn a_damaged_capture_says_where_and_a_missing_one_that_it_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cut.pcap");
    write_capture(&path);
    File::options().write(true).open(&path).unwrap().set_len(2000).unwrap();
    let error = pcap::count(&path).unwrap_err().to_string();
    assert!(error.contains("cut.pcap: after 2 packets"), "{error}");

    let error = pcap::count(&directory.path().join("none.pcap")).unwrap_err().to_string();
    assert!(error.contains("cannot open") && error.contains("No such file"), "{error}");
    let error = pcap::device(0, None, Path::new("a,b.pcap")).unwrap_err().to_string();
    assert!(error.contains("a,b.pcap: a name with a comma"), "{error}");
}
