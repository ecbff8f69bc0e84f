//! Health checks: which are asked, when, what the answers mean, and how they are asked (section 7).
//!
//! In reading order:
//!
//! - [`question`]: one distinct check; services that ask the same of the same address share it;
//! - [`mod@wanted`]: what the state in force wants to know, of whom;
//! - [`report`]: what one probe found out, and why it failed;
//! - [`subject`]: one backend of one service: thresholds, weight, the last answer;
//! - [`schedule`]: when each question is asked next, spread and bounded;
//! - [`board`]: all of it together: takes what is wanted, reports and the time, and says what to
//!   ask and what has changed;
//! - [`summary`]: what is known, for people.
//!
//! Up to here everything is pure: `now` is passed in (D-9). Then:
//!
//! - [`probe`]: how a question is asked;
//! - [`checker`]: the board, run on a tokio runtime.

pub mod board;
pub mod checker;
pub mod probe;
pub mod question;
pub mod report;
pub mod schedule;
pub mod subject;
pub mod summary;
pub mod wanted;

pub use board::{Board, Start};
pub use question::{At, Question};
pub use report::{Reason, Report, Response, Step};
pub use subject::{News, Row};
pub use summary::Summary;
pub use wanted::{Wanted, wanted};
