//! DPDK's hash table, lock-free for readers, as far as it is compared with.

use std::ffi::CString;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Result;

#[allow(non_camel_case_types, reason = "DPDK's name")]
enum rte_hash {}

// SAFETY: as `shim/rte_hash.c` defines them.
unsafe extern "C" {
    fn bench_hash_new(name: *const i8, entries: u32, key_len: u32) -> *mut rte_hash;
    fn bench_hash_free(hash: *mut rte_hash);
    fn bench_hash_add(hash: *const rte_hash, key: *const u8, data: usize) -> i32;
    fn bench_hash_find(
        hash: *const rte_hash,
        keys: *const u8,
        stride: u32,
        count: u32,
        sum: *mut u64,
    ) -> i32;
}

/// A table of keys of `LEN` bytes.
#[derive(Debug)]
pub struct RteHash<const LEN: usize>(NonNull<rte_hash>);

impl<const LEN: usize> RteHash<LEN> {
    /// A table for this many entries. DPDK must have been started, with enough memory.
    pub fn new(entries: u32) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = CString::new(format!("bench{}", NEXT.fetch_add(1, Ordering::Relaxed)))?;
        // SAFETY: the name is a C string, which is copied.
        let raw = unsafe { bench_hash_new(name.as_ptr().cast(), entries, LEN as u32) };
        let no_memory = || format!("no rte_hash for {entries} keys of {LEN} bytes");
        Ok(Self(NonNull::new(raw).ok_or_else(no_memory)?))
    }

    /// Enters a key; false if there is no room.
    pub fn add(&self, key: &[u8; LEN], data: usize) -> bool {
        // SAFETY: the table lives; `key` has the length that it was made for.
        unsafe { bench_hash_add(self.0.as_ptr(), key.as_ptr(), data) == 0 }
    }

    /// How many of these keys, at most 64, are there, looked up together; and the sum of their data.
    pub fn find(&self, keys: &[[u8; LEN]]) -> (usize, u64) {
        let mut sum = 0;
        let count = keys.len().min(64) as u32;
        // SAFETY: the table lives; `count` keys of LEN bytes lie side by side.
        let found = unsafe {
            bench_hash_find(self.0.as_ptr(), keys.as_ptr().cast(), LEN as u32, count, &raw mut sum)
        };
        (found.max(0) as usize, sum)
    }
}

impl<const LEN: usize> Drop for RteHash<LEN> {
    fn drop(&mut self) {
        // SAFETY: ours, and not used afterwards.
        unsafe { bench_hash_free(self.0.as_ptr()) }
    }
}
