//! Routes and neighbours are the kernel's (D-11): whatever happens to them, workers follow.

mod bgp;
mod ecmp;
mod neighbours;
mod routes;
mod world;
