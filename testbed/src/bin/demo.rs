//! `make demo`: Windrose's main job, shown on real traffic. Needs root.
//!
//! `demo [--af-xdp]`. Exit code 0 when everything went as it should.

use std::process::ExitCode;
use std::time::Instant;

use rustix::process::{Signal, geteuid};
use testbed::appliance::Appliance;
use testbed::config::{Config, Driver};
use testbed::topology::{Arms, Topology};
use testbed::{Result, demo};

fn driver() -> Option<Driver> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => Some(Driver::AfPacket),
        (Some("--af-xdp"), None) => Some(Driver::AfXdp),
        _ => None,
    }
}

fn run(driver: Driver) -> Result<bool> {
    let name = if driver == Driver::AfXdp { "net_af_xdp" } else { "net_af_packet" };
    println!("Windrose: real packets between hosts that are network namespaces of this machine");
    println!("{}", demo::picture(name));
    let topology = Topology::new(Arms::Two)?;
    let config = Config { driver, hugepages: "auto", ..Config::new(&topology) };
    let mut appliance = Appliance::start(&topology, &config)?;

    let good = steps(&topology, &mut appliance, &config);
    if !matches!(good, Ok(true)) {
        eprintln!("\nWindrose's log:\n{}", appliance.log());
    }
    println!("\n3. How every packet that arrived ended (Windrose's counters at its stop)\n");
    Ok(good? & demo::counters(&appliance.stop(Signal::TERM)?))
}

fn steps(topology: &Topology, appliance: &mut Appliance, config: &Config) -> Result<bool> {
    println!("1. Requests: curl to each VIP, a new connection each time\n");
    let requests = demo::requests(topology, appliance, config)?;
    println!("\n2. A backend is taken out while it has work\n");
    Ok(requests & demo::removal(topology, appliance, config)?)
}

fn main() -> ExitCode {
    let Some(driver) = driver() else {
        eprintln!("usage: demo [--af-xdp]");
        return ExitCode::from(64);
    };
    if !geteuid().is_root() {
        eprintln!("demo: network namespaces need root: run `sudo make demo`");
        return ExitCode::FAILURE;
    }
    let began = Instant::now();
    match run(driver) {
        Ok(true) => {
            println!("\nAll of it went as it should, in {} s.", began.elapsed().as_secs());
            ExitCode::SUCCESS
        }
        Ok(false) => {
            println!("\nNot all of it went as it should: compare the figures above.");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("\ndemo: {error}");
            ExitCode::FAILURE
        }
    }
}
