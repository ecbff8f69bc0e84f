//! Backend address → slots: what an ICMP error about an outer header is about (S-7).

use std::net::IpAddr;

use hashbrown::HashMap;

use crate::SlotId;

/// Every address that tunnels lead to, and the slots behind it: one for each service that has
/// this backend.
#[derive(Debug, Default)]
pub struct Backends(HashMap<IpAddr, Vec<SlotId>, ahash::RandomState>);

impl Backends {
    /// The slots behind an address; none if it is no backend's.
    #[inline]
    pub fn slots(&self, address: IpAddr) -> &[SlotId] {
        self.0.get(&address).map_or(&[], Vec::as_slice)
    }
}

impl FromIterator<(IpAddr, SlotId)> for Backends {
    fn from_iter<T: IntoIterator<Item = (IpAddr, SlotId)>>(pairs: T) -> Self {
        let mut backends = Self::default();
        for (address, slot) in pairs {
            backends.0.entry(address).or_default().push(slot);
        }
        backends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_to_all_its_slots() {
        let slot = |number| SlotId::new(number).expect("in range");
        let [a, b, c] = [1, 2, 3].map(|last| IpAddr::from([10, 1, 0, last]));
        let backends: Backends = [(a, slot(0)), (b, slot(1)), (a, slot(2))].into_iter().collect();
        assert_eq!(backends.slots(a), [slot(0), slot(2)]);
        assert_eq!(backends.slots(b), [slot(1)]);
        assert_eq!(backends.slots(c), []);
    }
}
