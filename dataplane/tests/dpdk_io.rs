//! The workers' view of DPDK ports: rings that give back what is sent, and a way to the host.

use std::sync::OnceLock;

use arrayvec::ArrayVec;
use dataplane::batch::{BURST, Batch};
use dataplane::io::dpdk::{DeviceQueues, DpdkIo, Lane};
use dataplane::io::host::{HostSide, queues};
use dataplane::io::{Io, Punt};
use dpdk::{Eal, EalConfig, Mbuf, Mempool, PoolConfig, Port, PortConfig};
use tables::PortId;

/// DPDK starts once per process.
fn eal() -> &'static (Eal, Mempool) {
    static EAL: OnceLock<(Eal, Mempool)> = OnceLock::new();
    EAL.get_or_init(|| {
        let eal =
            Eal::start(&EalConfig { memory: 64, ..EalConfig::default() }).expect("DPDK starts");
        let pool = PoolConfig { buffers: 2047, ..PoolConfig::default() };
        let pool = Mempool::new(&eal, "io", &pool).expect("there is memory");
        (eal, pool)
    })
}

/// The first port has a host interface, the second none.
fn two_ports(devices: [&str; 2]) -> (DpdkIo, HostSide) {
    let (eal, pool) = eal();
    let (worker, host) = queues(8, 2048);
    let ids = [PortId(0), PortId(1)];
    let ports = devices.iter().zip(ids).zip([Some(worker), None]).map(|((device, id), host)| {
        let mut port = Port::open(eal, device, pool, &PortConfig::default()).expect("it opens");
        let (rx, tx) = port.split().remove(0);
        DeviceQueues::one(id, rx, tx, host)
    });
    (DpdkIo::new(ports.collect(), *pool), host)
}

fn frames(count: u8) -> ArrayVec<Mbuf, BURST> {
    let frame = |n| {
        let mut mbuf = eal().1.take().unwrap();
        assert!(mbuf.extend(&[n; 60]));
        mbuf
    };
    (0..count).map(frame).collect()
}

fn ports_of(batch: &Batch<Mbuf>) -> Vec<u8> {
    batch.0.iter().map(|packet| packet.port.0).collect()
}

#[test]
fn a_burst_is_filled_from_all_ports_in_turn_and_none_is_starved() {
    let (mut io, _host) = two_ports(["net_ring0", "net_ring1"]);
    for port in [PortId(0), PortId(1)] {
        for _ in 0..2 {
            io.transmit(port, &mut frames(20));
        }
    }
    let bursts: Vec<_> = std::iter::from_fn(|| {
        let mut batch = Batch::default();
        io.receive(&mut batch);
        (!batch.0.is_empty()).then(|| ports_of(&batch))
    })
    .collect();
    assert_eq!(bursts[0], [0; 32]);
    assert_eq!(bursts[1], [1; 32]);
    let both: Vec<u8> = [[0; 8], [1; 8]].concat();
    assert_eq!(bursts[2..], [both]);
}

#[test]
fn frames_to_and_from_the_host_pass_by_their_port() {
    let (mut io, mut host) = two_ports(["net_ring2", "net_ring3"]);
    let punted = frames(3).pop().unwrap();
    assert_eq!(io.punt(PortId(0), punted), Ok(()));
    assert_eq!(host.next(<[u8]>::to_vec).unwrap(), [2; 60]);
    assert_eq!(io.punt(PortId(1), frames(1).pop().unwrap()), Err(Punt::NoInterface));
    assert_eq!(io.punt(PortId(9), frames(1).pop().unwrap()), Err(Punt::NoInterface));

    assert!(host.send(|buffer| {
        buffer[..60].fill(7);
        Some(60)
    }));
    assert!(host.send(|_| Some(2048)));
    assert_eq!(io.forward_from_host(), (2, 0));
    assert_eq!(io.forward_from_host(), (0, 0));
    let mut batch = Batch::default();
    io.receive(&mut batch);
    assert_eq!(batch.0[0].frame.bytes(), [7; 60]);
    assert_eq!(batch.0[1].frame.bytes().len(), 2048);
}

#[test]
fn frames_for_a_port_that_is_not_there_stay_with_the_sender() {
    let (mut io, _host) = two_ports(["net_ring4", "net_ring5"]);
    let mut out = frames(5);
    io.transmit(PortId(2), &mut out);
    assert_eq!(out.len(), 5);
}

#[test]
fn a_device_with_several_vlans_is_several_ports_and_the_first_takes_what_is_of_none() {
    let (eal, pool) = eal();
    let mut port = Port::open(eal, "net_ring6", pool, &PortConfig::default()).expect("it opens");
    let (rx, tx) = port.split().remove(0);
    let lanes = [(3, 10), (1, 0), (5, 20)];
    let lane = |(id, vlan)| Lane { id: PortId(id), vlan, host: None };
    let ports = lanes.map(lane).into_iter().collect();
    let mut io = DpdkIo::new(vec![DeviceQueues { rx, tx, ports, speaks: false }], *pool);

    let tags: [&[u8]; 6] = [
        &[0x81, 0, 0, 10],
        &[0x81, 0, 0x60, 20],
        &[0x81, 0, 0xE0, 0],
        &[],
        &[0x88, 0xA8, 0, 20],
        &[0x81, 0, 0, 30],
    ];
    let tagged = |tag: &[u8]| {
        let mut mbuf = pool.take().unwrap();
        assert!(mbuf.extend(&[&[0; 12][..], tag, &[0x08, 0, 0x45], &[0; 45]].concat()));
        mbuf
    };
    let mut out: ArrayVec<_, BURST> = tags.map(tagged).into_iter().collect();
    io.transmit(PortId(5), &mut out);
    assert!(out.is_empty());
    let mut batch = Batch::default();
    io.receive(&mut batch);
    assert_eq!(ports_of(&batch), [3, 5, 1, 1, 5, 3]);
}
