//! `windrose run`: the appliance.

use std::path::Path;
use std::process::ExitCode;

use control::config;
use control::model::Config;

use crate::appliance::Appliance;
use crate::background::Background;
use crate::events::Events;
use crate::failure::Failure;
use crate::{ConfigFile, exit, logging};

#[derive(clap::Args)]
#[command(after_help = "\
Signals:
  SIGHUP            read the configuration again; an invalid one changes nothing and is reported
  SIGUSR1           print the counters
  SIGTERM, SIGINT   stop, and print the counters

A service manager that listens at NOTIFY_SOCKET (systemd, Type=notify) is told when every worker runs,
of reloads, and, for its watchdog, that every worker still advances. A worker that ends or stalls ends
the process with exit code 70.

Examples:
  windrose run --config ./windrose.toml
  windrose run --log-format human --log-level warn")]
pub(crate) struct Arguments {
    #[command(flatten)]
    file: ConfigFile,
    #[command(flatten)]
    log: logging::Logging,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let log = logging::start(&arguments.log);
    let file = &arguments.file.config;
    let loaded = match config::load(file) {
        Ok(loaded) => loaded,
        Err(errors) => return log.invalid(&errors),
    };
    log.warnings(&loaded.warnings);
    if loaded.config.ports.is_empty() {
        return log.end(exit::CONFIG, &"no [[port]]: there is nothing to receive from");
    }
    match start(loaded.config, file) {
        Ok((appliance, events)) => {
            let ending = appliance.serve(file, &events, &log);
            ending.code(&log)
        }
        Err(why) => log.end(exit::SYSTEM, &why),
    }
}

fn start(config: Config, file: &Path) -> Result<(Appliance, Events), Failure> {
    let events = Events::new()?;
    let background = Background::start()?;
    Ok((Appliance::start(config, file, &events, background)?, events))
}
