//! The testbed by itself, without Windrose.

use testbed::Result;
use testbed::address::{self, Family};
use testbed::client::ask;
use testbed::command::run;
use testbed::topology::{Arms, Topology};

#[test]
fn every_backend_serves_the_client_past_the_appliance_and_nothing_is_left() -> Result<()> {
    for (arms, segment) in [(Arms::Two, 3), (Arms::One, 1)] {
        let topology = Topology::new(arms)?;
        for (index, backend) in topology.backends.iter().enumerate() {
            for family in Family::BOTH {
                let address = address::backend(segment, family, index);
                assert_eq!(ask(&topology.client, address)?, backend.name, "{arms:?} {address}");
            }
        }
        drop(topology);
        let prefix = testbed::cleanup::run_prefix();
        assert!(!run("ip netns list")?.contains(prefix), "{arms:?}: namespaces are left");
    }
    Ok(())
}
