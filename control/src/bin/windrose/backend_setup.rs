//! `windrose backend-setup`: the other end of the tunnel, as commands.

use std::process::ExitCode;

use control::backend_setup::{Setup, SetupError, ansible, netplan, sh};
use control::model::Config;

use crate::{ConfigFile, check, exit, say};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  windrose backend-setup web --config windrose.toml            # read it first
  windrose backend-setup web --config windrose.toml | ssh root@10.0.1.11 sh
  windrose backend-setup web --undo | ssh root@10.0.1.11 sh
  windrose backend-setup web --format ansible > roles/web/tasks/windrose.yml
  windrose backend-setup web --backend rack-a/a1 --format netplan

Nothing is changed here: it prints. The script is the same for every backend of the service, finds out by its addresses
which one it runs on, and may run again. After a change of encapsulation or VIPs: undo with the old file, then set up with
the new one. Exit code 0 when there is something to print, 65 for an unknown name or a service without a rule, 78 for a
fault in FILE.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    file: ConfigFile,
    /// The service whose backends are set up
    #[arg(value_name = "SERVICE")]
    service: String,
    /// Only this backend; netplan needs one where there are several
    #[arg(long, value_name = "GROUP/NAME")]
    backend: Option<String>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Sh)]
    format: Format,
    /// Print how to take it back
    #[arg(long)]
    undo: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A shell script
    Sh,
    /// Ansible tasks: the script as a unit that runs at each boot
    Ansible,
    /// A netplan file for one backend, and as comments what netplan has no words for
    Netplan,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    if arguments.undo && arguments.format == Format::Netplan {
        let why = "--undo has no netplan file: remove the one that was made, and use --undo --format sh for the rest";
        return exit::with(exit::USAGE, &why);
    }
    let config = match check::load_quietly(&arguments.file) {
        Ok(config) => config,
        Err(code) => return code,
    };
    match text(arguments, &config) {
        Ok(text) => {
            say::out(text);
            ExitCode::SUCCESS
        }
        Err(error) => exit::with(exit::DATA, &error),
    }
}

fn text(arguments: &Arguments, config: &Config) -> Result<String, SetupError> {
    let setup = Setup::new(config, &arguments.service, arguments.backend.as_deref())?;
    Ok(match (arguments.format, arguments.undo) {
        (Format::Sh, false) => sh::up(&setup),
        (Format::Sh, true) => sh::undo(&setup),
        (Format::Ansible, false) => ansible::up(&setup),
        (Format::Ansible, true) => ansible::undo(&setup),
        (Format::Netplan, _) => netplan::up(&setup)?,
    })
}
