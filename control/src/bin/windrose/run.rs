//! `windrose run`: the appliance.

use std::process::ExitCode;

use control::model::Config;

use crate::appliance::Appliance;
use crate::background::Background;
use crate::events::Events;
use crate::failure::Failure;
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
    match start(loaded.config) {
        Ok((appliance, events)) => appliance.serve(&arguments.file.config, &events),
        Err(why) => exit::with(exit::SYSTEM, &why),
    }
}

fn start(config: Config) -> Result<(Appliance, Events), Failure> {
    let events = Events::new()?;
    let background = Background::start()?;
    Ok((Appliance::start(config, &events, background)?, events))
}
