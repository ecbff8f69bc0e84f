//! The kinds of values that keys take.
//!
//! - [`number`]: booleans, integers within bounds, ratios;
//! - [`choice`]: one word of several;
//! - [`text`]: addresses, prefixes, names, durations, sizes, the seed;
//! - [`mixed`]: what is a word or a number: ports, GRE key, DSCP; and the neighbours' table.

pub(super) mod choice;
pub(super) mod mixed;
pub(super) mod number;
pub(super) mod text;
