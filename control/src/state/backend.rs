//! What is known of one backend.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tables::{Lifetime, SlotId};

use super::orders::BackendOrders;
use super::slots::Slots;
use crate::model::{self, Persistence, Role};
use crate::policy::weights;

/// One backend of one service; what is not in the file any more stays until it has drained.
#[derive(Clone, Debug)]
pub struct Backend {
    /// Its slot.
    pub slot: SlotId,
    /// `group/name`, as commands and logs say it.
    pub path: Arc<str>,
    /// Where it is.
    pub address: IpAddr,
    /// Its group's role.
    pub role: Role,
    /// Its group's zone.
    pub zone: Option<Arc<str>>,
    static_weight: Option<u16>,
    header_weight: Option<u16>,
    in_file: bool,
    /// Its first result has to come before it may be a member.
    awaited: bool,
    /// Whether that has come.
    heard: bool,
    orders: BackendOrders,
    /// The operator drains the whole service.
    with_service: bool,
    /// The last verdict of its checks.
    passes: bool,
    /// When its entries end, once it has been removed.
    deadline: Option<Duration>,
    /// Entries may have outlived its last change to unhealthy (H-2 can end them later).
    outlived: bool,
    settled: Standing,
}

/// What was last decided upon: changes are judged against it (one change, one decision).
#[derive(Clone, Copy, Debug)]
struct Standing {
    removed: bool,
    healthy: bool,
}

impl Backend {
    /// A backend that has just come into the file.
    pub fn new(slot: SlotId, path: Arc<str>, address: IpAddr, healthy: bool) -> Self {
        Self {
            slot,
            path,
            address,
            role: Role::Primary,
            zone: None,
            static_weight: None,
            header_weight: None,
            in_file: true,
            awaited: false,
            heard: false,
            orders: BackendOrders::default(),
            with_service: false,
            passes: healthy,
            deadline: None,
            outlived: false,
            settled: Standing { removed: false, healthy },
        }
    }

    /// A backend of a file that is not in force yet: checked, but no member of anything.
    pub fn announced(slot: SlotId, path: Arc<str>, address: IpAddr, healthy: bool) -> Self {
        let mut backend = Self::new(slot, path, address, healthy);
        backend.in_file = false;
        backend.await_first_result();
        backend
    }

    /// No member until its first result, or until nobody waits for that any longer.
    pub fn await_first_result(&mut self) {
        self.awaited = true;
        self.settled.removed = true;
    }

    /// Stands in the announced file too; nothing changes for one that is in force or drains.
    pub fn announce_again(&mut self) {
        if !self.in_file && self.deadline.is_none() {
            self.awaited = true;
        }
    }

    /// Nobody waits for its first result any longer.
    pub fn release(&mut self) {
        self.awaited = false;
    }

    /// Takes what the file says of it now.
    pub fn configure(&mut self, group: &model::Group, backend: &model::Backend) {
        self.in_file = true;
        self.awaited = false;
        self.role = group.role;
        self.zone.clone_from(&group.zone);
        self.static_weight = backend.weight;
    }

    /// The file does not name it any more (T-13).
    pub fn leave_file(&mut self) {
        self.in_file = false;
        self.awaited = false;
    }

    /// The checker's verdict; a removed backend keeps the health that it left with (T-13, T-15).
    pub fn set_passes(&mut self, passes: bool) {
        if self.awaited || !self.is_removed() {
            self.passes = passes;
            self.heard = true;
        }
    }

    /// Its service is not checked any more: it is as one that never was (W-7).
    pub fn forget_checks(&mut self, healthy: bool) {
        self.passes = healthy;
        self.header_weight = None;
    }

    /// A weight from the check's header (W-1).
    pub fn set_header_weight(&mut self, weight: u16) {
        self.header_weight = Some(weight);
    }

    /// Takes the operator's orders: to drain is a removal command, to disable a change to
    /// unhealthy (T-18).
    pub fn obey(&mut self, orders: BackendOrders, with_service: bool) {
        self.orders = orders;
        self.with_service = with_service;
    }

    /// Whether the file names it.
    pub fn is_in_file(&self) -> bool {
        self.in_file
    }

    /// Whether it only stands in a file that is not in force yet.
    pub fn is_announced(&self) -> bool {
        self.awaited && !self.in_file
    }

    /// The process has just started, and until first results are there it is no member.
    pub fn is_starting(&self) -> bool {
        self.awaited && self.in_file
    }

    /// Whether its first result is awaited, and has not come.
    pub fn is_awaited(&self) -> bool {
        self.awaited && !self.heard
    }

    /// Out of the eligible set and out of every count (T-13).
    pub fn is_removed(&self) -> bool {
        !self.in_file || self.orders.drained || self.with_service || self.awaited
    }

    /// Whether checks may change its health: it is a member, or is to become one.
    pub fn is_checked(&self) -> bool {
        self.awaited || !self.is_removed()
    }

    /// Healthy, as far as policy is concerned.
    pub fn is_healthy(&self) -> bool {
        self.passes && !self.orders.disabled
    }

    /// The operator's orders about it.
    pub fn orders(&self) -> BackendOrders {
        self.orders
    }

    /// Whether the operator drains its whole service.
    pub fn is_drained_with_service(&self) -> bool {
        self.with_service
    }

    /// The last verdict of its checks, whatever the operator says.
    pub fn passes(&self) -> bool {
        self.passes
    }

    /// The weight in force (W-1, W-3).
    pub fn weight(&self) -> u16 {
        weights::effective(self.header_weight, self.static_weight)
    }

    /// Whether that is the check's header's.
    pub fn has_header_weight(&self) -> bool {
        self.header_weight.is_some()
    }

    /// When its entries end, if it is on its way out.
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// Whether nothing is left of it: out of the file, and drained.
    pub fn is_gone(&self) -> bool {
        !self.in_file && !self.awaited && self.settled.removed && self.deadline.is_none()
    }

    /// Draws the consequences of what has changed since the last time (T-11, T-13, T-15).
    pub fn settle(&mut self, slots: &mut Slots, service: &model::Service, now: Duration) {
        let standing = Standing { removed: self.is_removed(), healthy: self.is_healthy() };
        let was = std::mem::replace(&mut self.settled, standing);
        match (was.removed, standing.removed) {
            (false, true) => self.deadline = Some(now + service.draining_timeout),
            (true, false) => self.deadline = None,
            (true, true) => {}
            (false, false) if was.healthy && !standing.healthy => {
                self.fail(slots, service.persistence)
            }
            (false, false) => self.outlived &= !standing.healthy,
        }
        self.expire(slots, now);
    }

    /// T-11: healthy → unhealthy.
    fn fail(&mut self, slots: &mut Slots, persistence: Persistence) {
        slots.end(self.slot, Lifetime::WhileHealthy);
        self.outlived = persistence != Persistence::NeverPersist;
        if !self.outlived {
            slots.end(self.slot, Lifetime::Persisting);
        }
    }

    /// H-2 from now on: what has only lived on because it persisted ends.
    pub fn stop_persisting(&mut self, slots: &mut Slots) {
        if std::mem::take(&mut self.outlived) {
            slots.end(self.slot, Lifetime::Persisting);
        }
    }

    /// Ends the entries when the draining timeout has passed (T-13).
    pub fn expire(&mut self, slots: &mut Slots, now: Duration) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.deadline = None;
            slots.end_all(self.slot);
        }
    }
}
