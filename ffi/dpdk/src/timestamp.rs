//! When a driver says that a frame arrived.

use dpdk_sys::rte_mbuf_dyn_rx_timestamp_register as register;

use crate::error::{last, text};
use crate::{Eal, Error, Mbuf};

/// Where drivers that know a frame's time of arrival write it.
#[derive(Clone, Copy, Debug)]
pub struct RxTimestamp {
    offset: usize,
}

impl RxTimestamp {
    /// Claims the place in every mbuf. Before a port is opened, for its driver looks once.
    ///
    /// # Errors
    /// [`Error::Failed`] if mbufs have no room left.
    pub fn register(_eal: &Eal) -> Result<Self, Error> {
        let (mut offset, mut flag) = (0, 0);
        // SAFETY: the EAL runs; both are valid to write to.
        let rc = unsafe { register(&raw mut offset, &raw mut flag) };
        if rc == 0 && offset >= 0 {
            return Ok(Self { offset: offset as usize });
        }
        let action = "reserve room for receive timestamps".into();
        Err(Error::Failed { action, reason: text(last()), log: Default::default() })
    }

    /// The frame's time, in the driver's unit (net_pcap: microseconds of the capture's clock);
    /// meaningless if the port's driver writes none.
    pub fn of(&self, mbuf: &Mbuf) -> u64 {
        // SAFETY: DPDK gave out eight aligned bytes at this offset within every mbuf.
        unsafe { mbuf.raw().byte_add(self.offset).cast::<u64>().read() }
    }
}
