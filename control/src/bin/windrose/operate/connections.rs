//! `windrose connections`

use std::process::ExitCode;

use control::admin::answer::{By, ConnectionQuery};
use control::admin::words;

use super::{Reading, look};
use crate::exit;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  windrose connections --limit 20
  windrose connections --service web --backend rack-a/a1
  windrose connections --client 198.51.100.0/24 --vip 203.0.113.10
  windrose connections --count-by client --limit 10
  windrose connections --count-by backend --format json | jq '.counts'

The connection table is walked through in the background, with pauses, so that packets do not notice; a million entries take
about half a second. The last line says how long it took: what came or went meanwhile may be missing.
Entries hold what their tracking key holds: under some session affinities no ports, no protocol or no VIP.
Exit code 0 when there is an answer, 65 when the question names what there is not, 69 when windrose is not running.")]
pub(crate) struct Arguments {
    /// Of this service
    #[arg(long, value_name = "SERVICE")]
    service: Option<String>,
    /// On this backend of it
    #[arg(long, value_name = "GROUP/NAME", requires = "service")]
    backend: Option<String>,
    /// Of clients in this prefix, or of one address
    #[arg(long, value_name = "PREFIX")]
    client: Option<String>,
    /// To VIPs in this prefix, or to one address
    #[arg(long, value_name = "PREFIX")]
    vip: Option<String>,
    /// At most so many lines: 100 by default, 10000 at most
    #[arg(long, value_name = "LINES")]
    limit: Option<usize>,
    /// Count instead of list, the most frequent first
    #[arg(long, value_enum, value_name = "WHAT")]
    count_by: Option<CountBy>,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum CountBy {
    /// Backends
    Backend,
    /// Client addresses
    Client,
    /// Services
    Service,
}

impl From<CountBy> for By {
    fn from(by: CountBy) -> Self {
        match by {
            CountBy::Backend => Self::Backend,
            CountBy::Client => Self::Client,
            CountBy::Service => Self::Service,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let query = ConnectionQuery {
        service: arguments.service.clone(),
        backend: arguments.backend.clone(),
        client: arguments.client.clone(),
        vip: arguments.vip.clone(),
        limit: arguments.limit,
        count_by: arguments.count_by.map(By::from),
    };
    let path = match serde_urlencoded::to_string(&query) {
        Ok(query) => format!("/v1/connections?{query}"),
        Err(why) => return exit::with(exit::USAGE, &why),
    };
    match query.count_by {
        Some(_) => arguments.reading.show(&path, |count| words::count(count, look())),
        None => arguments.reading.show(&path, |list| words::list(list, look())),
    }
}
