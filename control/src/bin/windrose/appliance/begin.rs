//! How the appliance starts: the devices, what is around them, the first Tables, the workers, and
//! last whoever asks. What was started is stopped again where something fails.

use std::path::Path;
use std::sync::Arc;

use control::model::Config;
use control::plan::wiring::Wiring;
use tables::Mac;

use super::Appliance;
use super::publication::Publication;
use super::shared::{Ground, Shared};
use super::tended::Tended;
use crate::admin::{Admin, Claimed};
use crate::background::Background;
use crate::events::Events;
use crate::failure::Failure;
use crate::first_results::FirstResults;
use crate::host::Hosts;
use crate::opening::Opening;
use crate::ports::{self, Ports};
use crate::quiet::Quiet;
use crate::routes::Routes;
use crate::service::Manager;

impl Appliance {
    /// Starts everything.
    pub(crate) fn start(
        config: Config,
        file: &Path,
        events: &Events,
        background: Background,
    ) -> Result<Self, Failure> {
        // Early, so that two appliances do not start.
        let socket = Claimed::of(&config)?;
        let Ports { eal, pool, devices, macs, watch, claims } = ports::open(&config)?;
        let quiet = Quiet::under(&config);
        let config = Arc::new(config);
        let shared = Shared::new(&config, &eal)?;
        // Before the routes, so that the first picture of the kernel has theirs.
        let (hosts, to_workers) = Hosts::start(&config, &macs, &watch.are_up())?;
        let routes = Routes::follow(&config, &background, events);
        let wiring = wiring(macs, eal.workers(), &routes);
        let publication = Publication::first(&config, wiring)?;
        routes.want(publication.state());
        let checks = shared.checks(&config, routes.kernel(), &background, events);
        let ground = Ground { eal: &eal, pool: &pool, devices, hosts: &to_workers };
        let workers = shared.launch(&config, ground, &publication, events)?;
        let around = shared.around(file, &checks, &publication);
        let admin = Admin::start(socket, &around, events, &background).map_err(Failure::Serving)?;
        if !eal.huge() {
            tracing::warn!("no huge pages: packets and connections are in small ones, at a cost");
        }
        let (tended, kept) = (Tended::new(&shared), (quiet, claims));
        let (awaiting, now) = (publication.state().is_awaiting(), shared.now());
        Ok(Self {
            first_results: FirstResults::of_start(awaiting, now),
            manager: Manager::new(workers.len(), now),
            publication,
            shared,
            admin,
            tended,
            workers,
            hosts,
            routes,
            checks,
            opening: Opening::new(now),
            watch,
            background,
            _kept: kept,
        })
    }
}

fn wiring(macs: Vec<Mac>, workers: usize, routes: &Routes) -> Wiring {
    Wiring { macs, workers, kernel: routes.kernel(), ..Wiring::default() }
}
