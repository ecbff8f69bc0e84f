//! Exit codes, after sysexits(3).

use std::process::ExitCode;

use crate::say;

/// The machine was looked at, and something is wrong with it.
pub(crate) const FOUND: u8 = 1;
/// The arguments make no sense.
pub(crate) const USAGE: u8 = 64;
/// What was given to work on makes no sense: a scenario, a packet, a name.
pub(crate) const DATA: u8 = 65;
/// The process that was asked does not run.
pub(crate) const NOT_RUNNING: u8 = 69;
/// Something that should have held did not: a worker ended by itself, or stalled.
pub(crate) const INTERNAL: u8 = 70;
/// The system or DPDK refused: an interface, memory, a device.
pub(crate) const SYSTEM: u8 = 71;
/// The process that was asked has too much to do.
pub(crate) const BUSY: u8 = 75;
/// This user may not.
pub(crate) const NOT_PERMITTED: u8 = 77;
/// The configuration is not valid.
pub(crate) const CONFIG: u8 = 78;

/// For the help text.
pub(crate) const HELP: &str = "\
Exit codes:
   0  done; for check: the configuration is valid
   1  doctor found something wrong
  64  the arguments make no sense
  65  a scenario, a packet, or the name of a service or a backend makes no sense
  69  windrose is not running
  70  internal fault: a worker ended by itself or stalled
  71  the system or DPDK refused an interface, memory or a device
  75  windrose is too busy; try again
  77  this user may not use the control socket
  78  the configuration is not valid";

/// Prints one sentence to standard error.
pub(crate) fn with(code: u8, why: &dyn std::fmt::Display) -> ExitCode {
    say::err(format_args!("windrose: {why}\n"));
    ExitCode::from(code)
}

/// What clap has to say: help and version are no failure.
pub(crate) fn usage(refused: &clap::Error) -> ExitCode {
    let _ = refused.print();
    if refused.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS }
}
