//! Routes and neighbours are the kernel's (D-11): whatever happens to them, workers follow.

mod bgp;
mod carrier;
mod ecmp;
mod flooded;
mod hints;
mod neighbours;
mod pace;
mod probes;
mod routes;
mod world;
