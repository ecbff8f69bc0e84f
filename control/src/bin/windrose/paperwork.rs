//! Man pages and shell completions, from the types that parse the command line. For packaging, so
//! `--help` does not show it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{exit, say};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// One page for each command, windrose.1, windrose-run.1 and so on
    Man {
        /// Where to; it is made
        directory: PathBuf,
    },
    /// Completions, to standard output
    Completions {
        /// For which shell
        shell: Shell,
    },
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match &arguments.what {
        What::Man { directory } => match man(directory) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => exit::with(exit::SYSTEM, &format!("{}: {why}", directory.display())),
        },
        What::Completions { shell } => {
            say::out(completions(*shell));
            ExitCode::SUCCESS
        }
    }
}

fn man(directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory)?;
    clap_mangen::generate_to(crate::Arguments::command(), directory)
}

fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::Arguments::command(), "windrose", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        crate::Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_has_a_page_and_a_completion() {
        let pages = tempfile::tempdir().expect("a directory");
        man(pages.path()).expect("pages");
        let shells = [Shell::Bash, Shell::Zsh, Shell::Fish].map(completions);
        let mut command = crate::Arguments::command();
        command.build();
        for shown in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            let name = shown.get_name();
            if name != "help" {
                let page = pages.path().join(format!("windrose-{name}.1"));
                let page = fs::read_to_string(page).expect(name);
                assert!(page.contains(".SH SYNOPSIS"), "{name}");
            }
            assert!(shells.iter().all(|script| script.contains(name)), "{name}");
        }
        assert!(!pages.path().join("windrose-paperwork.1").exists());
    }
}
