//! `windrose run`: the appliance.

use std::process::ExitCode;

use crate::appliance::Appliance;
use crate::events::Events;
use crate::{ConfigFile, check, exit, logging};

#[derive(clap::Args)]
#[command(after_help = "\
Signals:
  SIGHUP            read the configuration again; an invalid one changes nothing and is reported
  SIGUSR1           print the counters
  SIGTERM, SIGINT   stop, and print the counters

Example:
  windrose run --config ./windrose.toml")]
pub(crate) struct Arguments {
    #[command(flatten)]
    file: ConfigFile,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    logging::start();
    let loaded = match check::load(&arguments.file) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    if loaded.config.ports.is_empty() {
        return exit::with(exit::CONFIG, &"no [[port]]: there is nothing to receive from");
    }
    match Events::new().and_then(|events| Ok((Appliance::start(loaded.config, &events)?, events))) {
        Ok((appliance, events)) => appliance.serve(&arguments.file.config, &events),
        Err(why) => exit::with(exit::SYSTEM, &why),
    }
}
