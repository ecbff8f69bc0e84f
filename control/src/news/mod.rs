//! What a change did to whom new connections go to, as events of the log.
//!
//! [`between`] compares two states and is pure; [`log`] says what it found. Whatever changes the state (a verdict, a
//! weight, a reload, an operator, a deadline) goes through one place, so all of it is said the same way.

mod log;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::model::Role;
use crate::state::{Backend, Service, State};

pub use log::log;

/// One thing that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The operator's standing order about a backend (T-18).
    Order {
        /// The service.
        service: Arc<str>,
        /// `group/name`
        backend: Arc<str>,
        /// What was in force.
        from: Order,
        /// What is in force now.
        to: Order,
    },
    /// The weight in force of a backend of a weighted service (W-1, W-3).
    Weight {
        /// The service.
        service: Arc<str>,
        /// `group/name`
        backend: Arc<str>,
        /// What it was.
        from: u16,
        /// What it is.
        to: u16,
        /// Whether it is the check's header that says so, not the file.
        by_header: bool,
    },
    /// The backends that a new connection may be given to (section 3).
    Eligible {
        /// The service.
        service: Arc<str>,
        /// How many there were.
        from: usize,
        /// How many there are.
        to: usize,
        /// Those that are new among them.
        joined: Vec<Arc<str>>,
        /// Those that are not among them any more.
        left: Vec<Arc<str>>,
    },
    /// The role of the eligible backends; `None`: there are none, and new connections are dropped.
    Pool {
        /// The service.
        service: Arc<str>,
        /// Which it was.
        from: Option<Role>,
        /// Which it is.
        to: Option<Role>,
    },
    /// Whether those serve who should not, because nobody else can.
    LastResort {
        /// The service.
        service: Arc<str>,
        /// It begins, or is over.
        begins: bool,
    },
    /// A removed backend has drained: its connections have ended (T-13).
    Drained {
        /// The service.
        service: Arc<str>,
        /// `group/name`
        backend: Arc<str>,
    },
}

/// What the operator has ordered (T-18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing.
    Enabled,
    /// `windrose backend drain`
    Drained,
    /// `windrose backend disable`
    Disabled,
}

/// What changed from one state to the next. A service that is gone says nothing: it was taken out
/// of the file, and the reload says so. Of whom one that starts is given to, there is nothing to say
/// until that is decided.
pub fn between(before: &State, after: &State) -> Vec<News> {
    let mut news = Vec::new();
    for service in after.services().filter(|s| s.is_in_file()) {
        let was = before.service(&service.config.name).filter(|s| s.is_in_file());
        backends(was, service, &mut news);
        eligible(was, service, &mut news);
    }
    news
}

/// What there is to say of a first state.
pub fn first(state: &State) -> Vec<News> {
    let mut news = Vec::new();
    for service in state.services() {
        eligible(None, service, &mut news);
    }
    news
}

fn backends(was: Option<&Service>, is: &Service, news: &mut Vec<News>) {
    let Some(was) = was else { return };
    let mut now = is.backends.iter().peekable();
    // Both are in the order in which backends came, so one walk finds each again.
    for before in &was.backends {
        let after = now.next_if(|b| b.slot == before.slot && b.path == before.path);
        news.extend(order(is, before, after));
        news.extend(weight(is, before, after));
        news.extend(drained(is, before, after));
    }
}

fn weight(service: &Service, before: &Backend, after: Option<&Backend>) -> Option<News> {
    let after = after.filter(|_| service.config.weighted)?;
    let (from, to) = (before.weight(), after.weight());
    (from != to).then(|| News::Weight {
        service: Arc::clone(&service.config.name),
        backend: Arc::clone(&before.path),
        from,
        to,
        by_header: after.has_header_weight(),
    })
}

fn order(service: &Service, before: &Backend, after: Option<&Backend>) -> Option<News> {
    let (from, to) = (Order::of(before), Order::of(after?));
    let (service, backend) = (Arc::clone(&service.config.name), Arc::clone(&before.path));
    (from != to).then_some(News::Order { service, backend, from, to })
}

fn drained(service: &Service, before: &Backend, after: Option<&Backend>) -> Option<News> {
    before.deadline()?;
    let over = after.is_none_or(|after| after.is_removed() && after.deadline().is_none());
    let (service, backend) = (Arc::clone(&service.config.name), Arc::clone(&before.path));
    over.then_some(News::Drained { service, backend })
}

fn eligible(was: Option<&Service>, is: &Service, news: &mut Vec<News>) {
    if is.is_starting() {
        return;
    }
    let was = was.filter(|s| !s.is_starting());
    let service = &is.config.name;
    let (before, after) = (was.map(members).unwrap_or_default(), members(is));
    if before != after {
        let (from, to) = (before.len(), after.len());
        let joined = after.difference(&before).cloned().collect();
        let left = before.difference(&after).cloned().collect();
        news.push(News::Eligible { service: Arc::clone(service), from, to, joined, left });
    }
    let (from, to) = (was.and_then(|s| s.eligible().pool), is.eligible().pool);
    if from != to || (was.is_none() && to.is_none()) {
        news.push(News::Pool { service: Arc::clone(service), from, to });
    }
    let begins = is.eligible().last_resort;
    if was.is_some_and(|s| s.eligible().last_resort) != begins {
        news.push(News::LastResort { service: Arc::clone(service), begins });
    }
}

fn members(service: &Service) -> BTreeSet<Arc<str>> {
    let current = service.current();
    let members = service.eligible().members.iter().filter_map(|i| current.get(*i));
    members.map(|backend| Arc::clone(&backend.path)).collect()
}

impl Order {
    fn of(backend: &Backend) -> Self {
        let orders = backend.orders();
        let drained = orders.drained || backend.is_drained_with_service();
        match (drained, orders.disabled) {
            (true, _) => Self::Drained,
            (false, true) => Self::Disabled,
            (false, false) => Self::Enabled,
        }
    }
}
