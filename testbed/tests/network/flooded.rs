//! A flood to the host does not keep next hops from being found.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use etherparse::PacketBuilder;
use rustix::process::Signal;
use testbed::address::Family;
use testbed::appliance::Appliance;
use testbed::client::ask;
use testbed::topology::{Arms, Topology};
use testbed::{Result, tun};

use crate::world::*;

/// Each next hop has to say several times in it that it is still there.
const FLOODED: Duration = Duration::from_secs(6);

#[test]
fn under_a_flood_to_a_ports_own_address_next_hops_stay_known() -> Result<()> {
    let topology = Topology::new(Arms::Two)?;
    let config = config(&topology).to_string();
    let config = config.replace("host_interface", "host_rate = 100\nhost_interface");
    let mut appliance = Appliance::start(&topology, &config)?;
    impatient(&topology.appliance)?;
    Family::BOTH.into_iter().try_for_each(|family| answered(&topology, family).map(drop))?;

    let mut wire = topology.fabric.enter(|| tun::create_tap("flood0"))??;
    topology.fabric.ip("link set flood0 master backs up")?;
    let frame = datagram(&topology.appliance.mac("lb1")?);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                // One that the wire refuses is a flood all the same.
                (0..20).for_each(|_| drop(wire.write(&frame)));
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let begun = Instant::now();
        let asked = || -> Result<()> {
            while begun.elapsed() < FLOODED {
                for family in Family::BOTH {
                    ask(&topology.client, vip(family))?;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            Ok(())
        };
        let asked = asked();
        over.store(true, Ordering::Relaxed);
        asked
    })?;
    let counters = appliance.counters()?;
    assert!(count(&counters, "host_full") > 10 * count(&counters, "host"), "{counters:?}");
    let log = appliance.log();
    assert!(!log.contains("does not answer any more"), "{log}");
    appliance.stop(Signal::TERM)?;
    Ok(())
}

/// From somebody far away to the port's own address.
fn datagram(mac: &str) -> Vec<u8> {
    let mut to = [0; 6];
    for (byte, text) in to.iter_mut().zip(mac.split(':')) {
        *byte = u8::from_str_radix(text, 16).expect("an Ethernet address");
    }
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 0x99], to);
    let builder = builder.ipv4([192, 0, 2, 99], [10, 0, 2, 1], 64).udp(9, 9);
    builder.write(&mut frame, &[0; 100]).expect("it fits");
    frame
}
