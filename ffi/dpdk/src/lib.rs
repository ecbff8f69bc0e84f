//! Small safe types over DPDK.
//!
//! In reading order:
//!
//! - [`Eal`]: DPDK's runtime, once per process; it pins one worker thread to each CPU it is given;
//! - [`Mempool`] and [`Mbuf`]: packet buffers, owned, freed on drop;
//! - [`Port`]: a network device, configured and started; [`RxQueue`] and [`TxQueue`]: its queues,
//!   each owned by one thread;
//! - [`BondMode`]: several devices that are one;
//! - [`device`]: what a port's device string means, and what is checked before DPDK sees it;
//! - [`hugepages`]: whether there are huge pages, and what to say if not;
//! - [`Error`]: what was attempted, what DPDK said, and the cure.
//!
//! This crate must not know load balancing.
//!
//! # What is never freed
//!
//! An [`Mbuf`] is one pointer and knows nothing of its pool, so pools live as long as the process:
//! `rte_eal_cleanup`, which would unmap them under live buffers, is never called. The EAL runs
//! `--in-memory`, so the kernel takes everything back at exit. Ports are stopped and closed when
//! the last of their handles and queues is dropped.
//!
//! # Example
//!
//! ```no_run
//! use dpdk::{Eal, EalConfig, Mempool, PoolConfig, Port, PortConfig};
//!
//! # fn main() -> Result<(), dpdk::Error> {
//! let device = "net_af_packet0,iface=eth1";
//! let eal = Eal::start(&EalConfig { cpus: vec![1], devices: vec![device.into()], ..EalConfig::default() })?;
//! let pool = Mempool::new(&eal, "frames", &PoolConfig::default())?;
//! let mut port = Port::open(&eal, device, &pool, &PortConfig::default())?;
//! let (mut rx, mut tx) = port.split().remove(0);
//! let worker = eal.launch(0, move || {
//!     let mut burst = arrayvec::ArrayVec::<dpdk::Mbuf, 32>::new();
//!     while rx.receive(&mut burst, 32) > 0 {
//!         tx.send(&mut burst);
//!         burst.clear(); // what the port did not take is freed
//!     }
//! })?;
//! worker.join()?;
//! # Ok(())
//! # }
//! ```

mod bond;
mod detour;
pub mod device;
mod eal;
mod error;
pub mod hugepages;
mod launch;
mod log;
mod mbuf;
mod memory;
mod mempool;
mod port;
mod queue;
mod timestamp;

pub use bond::{BondMode, BondState, MemberState};
pub use eal::{Eal, EalConfig};
pub use error::Error;
pub use hugepages::HugePages;
pub use launch::Launched;
pub use mbuf::Mbuf;
pub use mempool::{Mempool, PoolConfig};
pub use port::{Link, Port, PortConfig, PortStats};
pub use queue::{RxQueue, TxQueue};
pub use timestamp::RxTimestamp;
