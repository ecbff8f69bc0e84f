//! The operator's standing orders (T-18): kept by name, over reloads too, until they are undone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Every order that is in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Orders(BTreeMap<String, ServiceOrders>);

/// Those about one service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServiceOrders {
    /// Every backend of it is drained, those that the file adds later too.
    pub drained: bool,
    /// By `group/name`, whatever its address.
    pub backends: BTreeMap<String, BackendOrders>,
}

/// Those about one backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BackendOrders {
    /// Removed, as far as new connections are concerned.
    pub drained: bool,
    /// Unhealthy, whatever its checks say.
    pub disabled: bool,
}

impl Orders {
    /// Those about one backend; the default where there are none.
    pub fn of_backend(&self, service: &str, path: &str) -> BackendOrders {
        let orders = self.0.get(service).and_then(|s| s.backends.get(path));
        orders.copied().unwrap_or_default()
    }

    /// Whether a whole service is drained.
    pub fn drains(&self, service: &str) -> bool {
        self.0.get(service).is_some_and(|s| s.drained)
    }

    /// Changes those about one backend.
    pub(super) fn change_backend(
        &mut self,
        service: &str,
        path: &str,
        change: impl FnOnce(&mut BackendOrders),
    ) {
        let of_service = self.0.entry(service.to_owned()).or_default();
        change(of_service.backends.entry(path.to_owned()).or_default());
        self.tidy();
    }

    /// Drains a whole service, or not any more.
    pub(super) fn drain_service(&mut self, service: &str, drained: bool) {
        self.0.entry(service.to_owned()).or_default().drained = drained;
        self.tidy();
    }

    /// Every order, by service.
    pub fn services(&self) -> impl Iterator<Item = (&str, &ServiceOrders)> {
        self.0.iter().map(|(name, orders)| (&**name, orders))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn tidy(&mut self) {
        for orders in self.0.values_mut() {
            orders.backends.retain(|_, orders| *orders != BackendOrders::default());
        }
        self.0.retain(|_, orders| *orders != ServiceOrders::default());
    }
}
