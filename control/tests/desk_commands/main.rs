//! `windrose check`, `simulate`, `explain` and `diff` as an operator runs them: what they print, and every
//! way in which they refuse.

mod check;
mod diff;
mod explain;
mod files;
mod simulate;
