//! Questions of operators and programs while the appliance runs, and their answers.
//!
//! In reading order:
//!
//! - [`answer`]: what is sent, as types: the JSON of every answer;
//! - [`picture`]: what the control thread publishes for whoever asks;
//! - [`request`]: what only the control thread can do, in a bounded queue;
//! - [`reloads`]: reads the file beside the control thread, many askers at once;
//! - [`desk`]: what the handlers share; `status`, `connections`, `counters`: how answers are made;
//! - [`routes`]: paths and methods; those that read, and those that change something;
//! - [`socket`]: the control socket's file; [`serve`]: connections to it, bounded;
//! - [`client`]: the other end; [`words`]: answers as text, for people.
//!
//! The control thread never waits for anyone here: it publishes a [`picture::Picture`], and takes
//! requests from a queue that refuses what is too much. Everything else happens on the background
//! runtime. The protocol is HTTP/1 and JSON.

pub mod answer;
pub mod client;
pub mod connections;
pub mod counters;
pub mod desk;
pub mod orders;
pub mod picture;
pub mod rates;
pub mod reloads;
pub mod request;
pub mod routes;
pub mod serve;
pub mod socket;
pub mod status;
pub mod words;
