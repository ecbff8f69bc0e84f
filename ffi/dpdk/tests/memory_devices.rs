//! Devices that exist in memory only, worker threads, and what is said when a device is wrong.

use std::sync::OnceLock;

use arrayvec::ArrayVec;
use dpdk::{Eal, EalConfig, Error, Mbuf, Mempool, PoolConfig, Port, PortConfig};

type Burst = ArrayVec<Mbuf, 32>;

/// DPDK starts once per process: all tests of this file share it.
fn eal() -> &'static (Eal, Mempool) {
    static EAL: OnceLock<(Eal, Mempool)> = OnceLock::new();
    EAL.get_or_init(|| {
        let config = EalConfig { memory: 128, ..EalConfig::default() };
        let eal = Eal::start(&config).expect("DPDK starts");
        let pool = PoolConfig { buffers: 4095, ..PoolConfig::default() };
        let pool = Mempool::new(&eal, "test", &pool).expect("there is memory");
        (eal, pool)
    })
}

fn open(device: &str, config: &PortConfig) -> Result<Port, Error> {
    let (eal, pool) = eal();
    Port::open(eal, device, pool, config)
}

#[test]
fn a_second_start_is_refused() {
    eal();
    assert_eq!(Eal::start(&EalConfig::default()).unwrap_err(), Error::AlreadyStarted);
}

#[test]
fn a_ring_gives_back_what_was_sent_in_order() {
    let mut port = open("net_ring0", &PortConfig::default()).unwrap();
    let (mut rx, mut tx) = port.split().remove(0);
    let mut frames = Burst::new();
    for n in 0..32u8 {
        let mut mbuf = eal().1.take().unwrap();
        assert!(mbuf.extend(&[n; 60]));
        frames.push(mbuf);
    }
    assert_eq!(tx.send(&mut frames), 32);
    assert!(frames.is_empty());
    let mut received = Burst::new();
    assert_eq!(rx.receive(&mut received, 32), 32);
    for (n, mbuf) in received.iter().enumerate() {
        assert_eq!(mbuf.bytes(), [n as u8; 60]);
    }
}

#[test]
fn frames_that_a_full_queue_does_not_take_stay_with_the_sender() {
    let mut port = open("net_ring1", &PortConfig::default()).unwrap();
    let (_rx, mut tx) = port.split().remove(0);
    let mut sent = 0;
    loop {
        let mut frames = Burst::new();
        assert!(eal().1.take_many(&mut frames));
        let n = tx.send(&mut frames);
        sent += n;
        if n < 32 {
            assert_eq!(frames.len(), 32 - n);
            break;
        }
    }
    assert!(sent > 0);
}

#[test]
fn a_buffer_grows_into_its_headroom_and_no_further() {
    let mut mbuf = eal().1.take().unwrap();
    assert!(mbuf.extend(b"payload"));
    assert!(mbuf.move_start(Mempool::HEADROOM as isize));
    assert!(!mbuf.move_start(1));
    assert_eq!(mbuf.bytes().len(), 128 + 7);
    mbuf.bytes_mut()[0] = 1;
    assert!(mbuf.move_start(-128));
    assert_eq!(mbuf.bytes(), b"payload");
    assert!(!mbuf.move_start(-8));
    mbuf.truncate(100);
    assert_eq!(mbuf.bytes(), b"payload");
    mbuf.truncate(3);
    assert_eq!(mbuf.bytes(), b"pay");
    assert!(!mbuf.extend(&[0; 4096]));
}

#[test]
fn what_a_buffer_was_does_not_show_in_what_it_is_next() {
    let mut port = open("net_ring7", &PortConfig::default()).unwrap();
    let (mut rx, mut tx) = port.split().remove(0);
    // Every buffer of the pool's cache goes round, once long and moved, once short.
    for (length, moved) in [(1500, 100), (60, 0), (60, 0)] {
        for _ in 0..40 {
            let mut frames = Burst::new();
            assert!(eal().1.take_many(&mut frames));
            for frame in &mut frames {
                assert_eq!((frame.headroom(), frame.bytes().len()), (128, 0));
                assert!(frame.extend(&[length as u8; 1500][..length]) && frame.move_start(moved));
            }
            tx.send(&mut frames);
            let mut received = Burst::new();
            rx.receive(&mut received, 32);
            assert!(received.iter().all(|f| f.bytes().len() == length + moved as usize));
        }
    }
}

#[test]
fn a_worker_runs_a_closure_over_a_queue_and_a_panic_is_reported() {
    let (eal, _) = eal();
    let mut port = open("net_null0", &PortConfig::default()).unwrap();
    let (mut rx, mut tx) = port.split().remove(0);
    let forward = move || {
        let mut total = 0;
        for _ in 0..100 {
            let mut burst = Burst::new();
            rx.receive(&mut burst, 32);
            total += tx.send(&mut burst);
        }
        total
    };
    assert_eq!(eal.launch(0, forward).unwrap().join().unwrap(), 3200);
    assert_eq!(port.stats().unwrap().sent, 3200);
    assert!(port.link().unwrap().up);

    let panicked = eal.launch(0, || panic!("on purpose")).unwrap().join();
    let error = Error::Panicked { worker: 0, message: "on purpose".into() };
    assert_eq!(panicked.unwrap_err(), error);
    assert!(eal.launch(9, || ()).unwrap_err().to_string().contains("no such worker"));
}

#[test]
fn more_workers_than_queues_is_an_error_that_names_both() {
    let config = PortConfig { queues: 99, ..PortConfig::default() };
    let error = open("net_ring2", &config).unwrap_err().to_string();
    assert!(error.contains("99 workers need 99 queue pairs, but it has 16"), "{error}");
}

#[test]
fn devices_that_are_not_there_are_named() {
    let error = |device: &str| open(device, &PortConfig::default()).unwrap_err().to_string();
    let text = error("net_af_packet7,iface=nope0");
    assert!(text.contains("there is no interface nope0"), "{text}");
    let text = error("fe:1f.7");
    assert!(text.contains("no PCI device at 0000:fe:1f.7"), "{text}");
    let text = error("net_nonesuch0");
    assert!(text.contains("device net_nonesuch0: DPDK cannot attach it"), "{text}");
    assert!(text.contains("DPDK: EAL: "), "{text}");
    let text = error("net_af_packet8");
    assert!(text.contains("needs an interface, as in net_af_packet8,iface=eth1"), "{text}");
    let text = error("eth0");
    assert!(text.contains("neither a PCI address"), "{text}");
}
