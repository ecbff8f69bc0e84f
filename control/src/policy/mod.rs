//! The policy: whom a new connection may be given to, and what a change does to the others.
//!
//! Pure functions and small state machines without a clock, in the order of the specification:
//!
//! - [`eligible`]: the eligible set (section 3);
//! - [`zonal`]: what of it the clients of one zone get (section 4);
//! - [`failover`]: when the set switches between primary and failover backends (T-10, T-17);
//! - [`weights`]: a backend's weight (W-1 to W-3, W-6);
//! - [`health`]: the checks' results → healthy or not (W-4).
//!
//! [`crate::health`] runs the checks and feeds the last two.
//!
//! A removed backend that is still draining is no [`Member`]: it is out of the eligible set and
//! out of every count and ratio (T-13), so whoever builds the slice leaves it out.

pub mod eligible;
pub mod failover;
pub mod health;
pub mod weights;
pub mod zonal;

use tables::ZoneId;

use crate::model::Role;

/// A backend as the policy sees it: a member of its service, not removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its group's role.
    pub role: Role,
    /// The verdict of the checks, or of the operator (T-18).
    pub healthy: bool,
    /// Its effective weight, 0 to 1000 ([`weights::effective`]); unread when weights are off.
    pub weight: u16,
    /// Its group's zone (Z-4); `None`: in no zone.
    pub zone: Option<ZoneId>,
}
