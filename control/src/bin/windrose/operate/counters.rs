//! `windrose counters`

use std::process::ExitCode;
use std::time::{Duration, Instant};

use control::admin::answer::CountersNow;
use control::admin::client::Ask;
use control::admin::words::{self, Shown};

use super::{Format, Reading, look, read};
use crate::say;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  windrose counters
  windrose counters --all --by-worker
  windrose counters --watch 2
  windrose counters --format json | jq '.total.outcomes.forwarded'

Every packet ends in exactly one outcome: what was received is their sum, and what is held. JSON has the zeros too.
Exit code 0 when there is an answer, 69 when windrose is not running.")]
pub(crate) struct Arguments {
    /// Show counters that are zero, too
    #[arg(long)]
    all: bool,
    /// A column for each worker
    #[arg(long)]
    by_worker: bool,
    /// Again and again after so many seconds, with rates, until it is interrupted
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600))]
    watch: Option<u32>,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let shown = Shown { all: arguments.all, by_worker: arguments.by_worker, since: None };
    match arguments.watch {
        None => arguments.reading.show("/v1/counters", |now| words::counters(now, shown, look())),
        Some(seconds) => watch(&arguments.reading, shown, Duration::from_secs(seconds.into())),
    }
}

fn watch(reading: &Reading, shown: Shown<'_>, pause: Duration) -> ExitCode {
    let mut before: Option<(CountersNow, Instant)> = None;
    loop {
        let (answer, when) = match reading.socket.ask(Ask::get("/v1/counters")) {
            Ok(answer) => (answer, Instant::now()),
            Err(code) => return code,
        };
        if reading.format == Format::Json {
            say::out(format_args!("{answer}\n"));
        }
        let now: CountersNow = match read(answer) {
            Ok(now) => now,
            Err(code) => return code,
        };
        if reading.format == Format::Text {
            let since = before.as_ref().map(|(b, at)| (b, when.duration_since(*at).as_secs_f64()));
            say::out(words::counters(&now, Shown { since, ..shown }, look()));
            say::out("\n");
        }
        before = Some((now, when));
        std::thread::sleep(pause);
    }
}
