//! What `windrose run` owes whoever supervises it: readiness, reloads, a line of status, signs of life.
//!
//! - [`watchdog`]: whether every worker goes on; a stalled one ends the process;
//! - [`status`]: the line;
//! - [`manager`]: both, told to systemd (sd_notify(3)) if it listens.

mod manager;
mod status;
mod watchdog;

pub(crate) use manager::Manager;
pub(crate) use watchdog::Stalled;
