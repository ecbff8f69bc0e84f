//! Pools of packet buffers.

use std::ffi::CString;
use std::ptr::NonNull;

use arrayvec::ArrayVec;
use dpdk_sys::rte_mempool;

use crate::error::{last, text};
use crate::log::Mark;
use crate::{Eal, Error, Mbuf};

/// How large a pool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// How many buffers: at least what all queues of all ports hold, and what is on its way.
    pub buffers: u32,
    /// Room for one frame, bytes; headroom comes on top.
    pub room: u16,
    /// How many each worker may keep for itself, at most 512.
    pub cache: u32,
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self { buffers: 16_383, room: 2048, cache: 256 }
    }
}

/// A pool of packet buffers. Cheap to copy; it lasts as long as the process (see the crate's page).
#[derive(Clone, Copy, Debug)]
pub struct Mempool {
    raw: NonNull<rte_mempool>,
    room: u16,
}

// SAFETY: rte_mempool's functions may be called by any thread; threads that are not DPDK's own
// share no per-thread cache.
unsafe impl Send for Mempool {}
// SAFETY: as above.
unsafe impl Sync for Mempool {}

impl Mempool {
    /// Bytes in front of each frame.
    pub const HEADROOM: u16 = dpdk_sys::RTE_PKTMBUF_HEADROOM as u16;

    /// Makes a pool. Names are unique in the process, at most 26 bytes.
    ///
    /// # Errors
    /// [`Error::PoolMemory`] if DPDK has too little memory, else [`Error::Failed`].
    pub fn new(eal: &Eal, name: &str, config: &PoolConfig) -> Result<Self, Error> {
        let mark = Mark::now();
        let c_name = CString::new(name).unwrap_or_default();
        let size = Self::HEADROOM.saturating_add(config.room);
        // SAFETY: the EAL runs (`eal` is the proof); the name is a C string that is copied.
        let raw = unsafe {
            dpdk_sys::rte_pktmbuf_pool_create(
                c_name.as_ptr(),
                config.buffers,
                config.cache,
                0,
                size,
                dpdk_sys::SOCKET_ID_ANY,
            )
        };
        match NonNull::new(raw) {
            Some(raw) => Ok(Self { raw, room: config.room }),
            None => Err(failed(eal, name, config, &mark)),
        }
    }

    /// Takes a buffer: an empty frame behind [`Mempool::HEADROOM`]. None if the pool is empty.
    pub fn take(&self) -> Option<Mbuf> {
        let mut one = ArrayVec::<Mbuf, 1>::new();
        self.take_many(&mut one);
        one.pop()
    }

    /// Fills up `out`, or leaves it as it was if the pool has not that many. True if it did.
    pub fn take_many<const N: usize>(&self, out: &mut ArrayVec<Mbuf, N>) -> bool {
        let count = out.remaining_capacity();
        let place = out.as_mut_ptr().cast::<*mut dpdk_sys::rte_mbuf>();
        // SAFETY: Mbuf is one pointer to an rte_mbuf; `place` + len has room for `count` more; all
        // or none are written, each with one reference, which is ours.
        unsafe {
            let rc =
                dpdk_sys::shim_alloc_bulk(self.raw.as_ptr(), place.add(out.len()), count as u32);
            if rc == 0 {
                out.set_len(out.len() + count);
            }
            rc == 0
        }
    }

    /// How many buffers are free (those in workers' own caches included). Slow.
    pub fn free(&self) -> u32 {
        // SAFETY: the pool is never freed.
        unsafe { dpdk_sys::rte_mempool_avail_count(self.raw.as_ptr()) }
    }

    /// Room for one frame, bytes.
    pub fn room(&self) -> u16 {
        self.room
    }

    pub(crate) fn raw(&self) -> *mut rte_mempool {
        self.raw.as_ptr()
    }
}

fn failed(eal: &Eal, name: &str, config: &PoolConfig, mark: &Mark) -> Error {
    let errno = last();
    let (reason, log) = (text(errno), mark.since());
    if errno != libc::ENOMEM {
        return Error::Failed { action: format!("make the buffer pool {name:?}"), reason, log };
    }
    // rte_mbuf's own 128 bytes and the pool's header of one line come with each buffer.
    let bytes = u32::from(config.room) + u32::from(Mempool::HEADROOM) + 192;
    let megabytes = (u64::from(bytes) * u64::from(config.buffers)).div_ceil(1 << 20);
    Error::PoolMemory {
        buffers: config.buffers,
        bytes,
        megabytes,
        memory: eal.memory(),
        reason,
        log,
    }
}
