//! A real kernel interface: one end of a veth pair, in a network namespace of its own.

mod common;

use std::net::UdpSocket;
use std::time::Duration;

use arrayvec::ArrayVec;
use common::{receive_where, veth_pair};
use dpdk::{Eal, EalConfig, Mbuf, Mempool, PoolConfig, Port, PortConfig};

fn open(eal: &Eal, device: &str, pool: &Mempool) -> Port {
    Port::open(eal, device, pool, &PortConfig::default()).expect("the interface is there")
}

#[test]
#[cfg_attr(no_namespace, ignore = "a network namespace needs root")]
fn frames_pass_both_ways_over_a_veth_pair_and_vlan_tags_stay_in_the_frame() {
    veth_pair(1500);
    let eal = Eal::start(&EalConfig { memory: 64, ..EalConfig::default() }).expect("DPDK starts");
    let pool = PoolConfig { buffers: 2047, ..PoolConfig::default() };
    let pool = Mempool::new(&eal, "veth", &pool).unwrap();
    let mut port = open(&eal, "net_af_packet0,iface=lb0", &pool);
    let (mut rx, mut tx) = port.split().remove(0);
    assert!(port.link().unwrap().up);

    let socket = UdpSocket::bind("10.0.0.1:5000").unwrap();
    socket.send_to(b"hello windrose", "10.0.0.2:6000").unwrap();
    let hello = receive_where([&mut rx], |b| b.ends_with(b"hello windrose"));
    let (_, mut mbuf) = hello.expect("it arrives");
    assert_eq!(mbuf.bytes()[12..14], [0x08, 0x00]);

    // The kernel takes the tag off on the way in; it must be back.
    let mut peer = open(&eal, "net_af_packet1,iface=peer0", &pool);
    let (_, mut peer_tx) = peer.split().remove(0);
    let mut tagged = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0x00, 0, 7, 0x88, 0xb5];
    tagged.extend([0x5a; 46]);
    let mut frame = pool.take().unwrap();
    assert!(frame.extend(&tagged));
    assert_eq!(peer_tx.send(&mut ArrayVec::<Mbuf, 1>::from([frame])), 1);
    let frame = receive_where([&mut rx], |b| b.ends_with(&[0x5a; 46]));
    let (_, frame) = frame.expect("it arrives");
    assert_eq!(frame.bytes(), tagged);

    // Send the first back, addresses and ports turned round. The IP checksum stays right; the UDP
    // one never was: the kernel leaves it to a veth's receiver (`ethtool -K peer0 tx off`).
    let bytes = mbuf.bytes_mut();
    bytes[0..6].copy_from_slice(&[2, 0, 0, 0, 0, 2]);
    for (a, b, len) in [(26, 30, 4), (34, 36, 2)] {
        (0..len).for_each(|i| bytes.swap(a + i, b + i));
    }
    bytes[40..42].fill(0);
    let mut out = ArrayVec::<Mbuf, 1>::from([mbuf]);
    assert_eq!(tx.send(&mut out), 1);
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut buffer = [0; 64];
    let (length, from) = socket.recv_from(&mut buffer).expect("it comes back");
    assert_eq!(&buffer[..length], b"hello windrose");
    assert_eq!(from, "10.0.0.2:6000".parse().unwrap());
}
