//! Network-namespace topologies, backends that decapsulate, clients: Windrose between real hosts,
//! on one machine. Needs root.
//!
//! In reading order:
//!
//! - [`address`]: who has which address;
//! - [`topology`]: the namespaces and the wires between them, two-arm, one-arm, and two VLANs on one wire ([`trunk`]);
//! - [`router`]: routers on the backends' segment, and backends behind them;
//! - [`bird`]: a routing daemon;
//! - [`appliance`]: a running `windrose`, started, reloaded, stopped, its counters read;
//! - [`config`]: the file that it is given;
//! - [`backend`]: a web server that has the VIPs on its loopback, and the [`decap`] helper in
//!   front of it (a kernel without tunnel modules needs one);
//! - [`guest`]: a backend with a kernel of its own, in qemu;
//! - [`client`]: HTTP over plain sockets that live in the client's namespace;
//! - [`supervisor`]: who listens to it as systemd would; [`stall`]: what stops one of its threads; [`clock`]: what sets its clock;
//! - [`load`]: clients that go on while something else is done; [`offered`]: a rate of new connections that waits for no answer;
//! - [`machine`]: systemd over a throw-away copy of this machine, to install a package in;
//! - [`demo`]: the steps of `make demo`;
//! - [`netns`], [`process`], [`command`]: what these stand on;
//! - [`cleanup`]: nothing is left behind, whatever ends the run.
//!
//! Everything that a run makes lives in namespaces whose names carry the run's process: two runs
//! never meet, and what a killed run left is recognised and removed by the next.

pub mod address;
pub mod appliance;
pub mod backend;
pub mod bird;
pub mod cleanup;
pub mod client;
pub mod clock;
pub mod command;
pub mod config;
pub mod decap;
pub mod demo;
pub mod error;
pub mod guest;
pub mod load;
pub mod machine;
pub mod netns;
pub mod offered;
pub mod process;
pub mod router;
pub mod stall;
pub mod supervisor;
pub mod topology;
pub mod trunk;
pub mod tun;

pub use error::{Error, Result};
