//! What the ports themselves report: whether their links are up, and what they lost before a
//! worker saw it.

use std::fmt::{Display, Formatter, Result};
use std::sync::Arc;

use control::admin::picture::Link;
use dpdk::{Port, PortStats};

/// The ports, watched.
pub(crate) struct Watch(Vec<Watched>);

struct Watched {
    name: Arc<str>,
    port: Port,
    /// `None`: not asked yet.
    up: Option<bool>,
}

impl Watch {
    /// Watches ports by their names in the file.
    pub(crate) fn new(ports: impl IntoIterator<Item = (Arc<str>, Port)>) -> Self {
        let watched = |(name, port)| Watched { name, port, up: None };
        Self(ports.into_iter().map(watched).collect())
    }

    /// Logs every link that has come up or gone down since the last look.
    pub(crate) fn look(&mut self) {
        for watched in &mut self.0 {
            let up = watched.port.link().is_ok_and(|link| link.up);
            match watched.up.replace(up) {
                Some(before) if before == up => {}
                None if up => {}
                _ if up => tracing::info!(port = %watched.name, "link is up"),
                _ => tracing::warn!(port = %watched.name, "link is down: nothing arrives"),
            }
        }
    }
}

impl Watch {
    /// What every port reports now, in the order of the file.
    pub(crate) fn links(&self) -> Vec<Link> {
        let link = |watched: &Watched| Link {
            up: watched.up,
            losses: losses(&watched.port.stats().unwrap_or_default()).into(),
        };
        self.0.iter().map(link).collect()
    }
}

/// One line for each kind of loss that there was.
impl Display for Watch {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for watched in &self.0 {
            let stats = watched.port.stats().unwrap_or_default();
            for (what, count) in losses(&stats).into_iter().filter(|(_, count)| *count > 0) {
                writeln!(f, "  {:<24} {count:>12}", format!("{}: {what}", watched.name))?;
            }
        }
        Ok(())
    }
}

fn losses(stats: &PortStats) -> [(&'static str, u64); 4] {
    [
        ("rx_missed", stats.missed),
        ("rx_errors", stats.receive_errors),
        ("rx_no_buffer", stats.no_buffer),
        ("tx_errors", stats.send_errors),
    ]
}
