//! Several workers on one kernel interface, and frames larger than the driver's usual slot.

mod common;

use std::collections::BTreeSet;
use std::net::UdpSocket;

use common::{receive_where, veth_pair};
use dpdk::{Eal, EalConfig, Mempool, PoolConfig, Port, PortConfig, RxQueue, device};

#[test]
#[cfg_attr(no_namespace, ignore = "a network namespace needs root")]
fn two_queues_share_the_flows_and_jumbo_frames_arrive_whole() {
    const DEVICE: &str = "net_af_packet0,iface=lb0";
    veth_pair(9000);
    let eal = Eal::start(&EalConfig { memory: 64, ..EalConfig::default() }).expect("DPDK starts");
    let room = device::room(DEVICE, 9000).unwrap();
    let pool = PoolConfig { buffers: 1023, room, ..PoolConfig::default() };
    let pool = Mempool::new(&eal, "jumbo", &pool).unwrap();
    let config = PortConfig { queues: 2, mtu: 9001, ..PortConfig::default() };
    let error =
        Port::open(&eal, "net_af_packet9,iface=lb0", &pool, &config).unwrap_err().to_string();
    assert!(error.ends_with("has MTU 9000, less than 9001: `ip link set lb0 mtu 9001`"), "{error}");

    let config = PortConfig { mtu: 9000, ..config };
    let mut port = Port::open(&eal, DEVICE, &pool, &config).expect("it takes two queues");
    let mut queues: Vec<RxQueue> = port.split().into_iter().map(|(rx, _)| rx).collect();

    let mut used = BTreeSet::new();
    for n in 0..32u8 {
        let socket = UdpSocket::bind(("10.0.0.1", 5000 + u16::from(n))).unwrap();
        let payload = vec![n; 8900];
        socket.send_to(&payload, "10.0.0.2:6000").unwrap();
        let found = receive_where(&mut queues, |b| b.ends_with(&[n; 100]));
        let (queue, frame) = found.expect("it arrives");
        assert_eq!(frame.bytes()[42..], payload);
        used.insert(queue);
    }
    assert_eq!(used, BTreeSet::from([0, 1]), "the kernel spreads 32 flows over both queues");
}
