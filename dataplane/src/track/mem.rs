//! Memory for the table: mapped once, zeroed, never grown (D-3).

/// What kind of pages to map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pages {
    /// Reserved huge pages where enough are free, else transparent ones, else small ones.
    #[default]
    Auto,
    /// Reserved huge pages or nothing.
    Require,
    /// Small pages.
    Off,
}

/// A type for which zeroed memory is a value.
///
/// # Safety
/// Every bit pattern of zeros must be a valid value, and dropping one must do nothing.
pub(super) unsafe trait Zeroed: Sync + Send {
    /// The value that zeroed memory holds.
    #[cfg(loom)]
    fn zeroed() -> Self;
}

#[cfg(not(loom))]
pub(super) use mapped::Slab;
#[cfg(loom)]
pub(super) use modelled::Slab;

#[cfg(not(loom))]
mod mapped {
    use std::marker::PhantomData;
    use std::ptr::{self, NonNull};
    use std::{io, slice};

    use super::{Pages, Zeroed};

    const HUGE: usize = 2 << 20;

    /// A fixed number of `T` in memory of its own, page-aligned.
    pub(in crate::track) struct Slab<T> {
        start: NonNull<T>,
        len: usize,
        mapped: usize,
        owns: PhantomData<T>,
    }

    // SAFETY: a Slab owns its mapping as a Box<[T]> would.
    unsafe impl<T: Zeroed> Send for Slab<T> {}
    // SAFETY: it only ever hands out `&T`, and `T: Sync` by `Zeroed`.
    unsafe impl<T: Zeroed> Sync for Slab<T> {}

    impl<T: Zeroed> Slab<T> {
        /// Maps `len` zeroed values and touches every page, so that no worker faults later.
        pub(in crate::track) fn new(len: usize, pages: Pages) -> io::Result<Self> {
            let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
            let mapped = Self::bytes_for(len).ok_or_else(too_large)?;
            let start = match (pages, map(mapped, libc::MAP_HUGETLB)) {
                (Pages::Auto | Pages::Require, Ok(start)) => start,
                (Pages::Require, Err(error)) => return Err(error),
                (Pages::Off, Ok(start)) => {
                    unmap(start, mapped);
                    map(mapped, 0)?
                }
                (_, Err(_)) => map(mapped, 0)?,
            };
            if pages != Pages::Off {
                advise(start, mapped, libc::MADV_HUGEPAGE);
            }
            advise(start, len * size_of::<T>(), libc::MADV_POPULATE_WRITE);
            Ok(Self { start: start.cast(), len, mapped, owns: PhantomData })
        }

        /// Bytes that are mapped for `len` values: whole huge pages. `None` beyond all memory.
        pub(in crate::track) fn bytes_for(len: usize) -> Option<usize> {
            len.checked_mul(size_of::<T>())?.max(1).checked_next_multiple_of(HUGE)
        }

        /// Bytes mapped.
        pub(in crate::track) fn bytes(&self) -> usize {
            self.mapped
        }
    }

    impl<T> std::ops::Deref for Slab<T> {
        type Target = [T];

        fn deref(&self) -> &[T] {
            // SAFETY: `new` mapped at least `len` values from the page-aligned `start`; zeroed
            // memory is a valid `T` (`Zeroed`); the mapping lives as long as `self`.
            unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
        }
    }

    impl<T> Drop for Slab<T> {
        fn drop(&mut self) {
            unmap(self.start.cast(), self.mapped);
        }
    }

    fn map(bytes: usize, flags: i32) -> io::Result<NonNull<u8>> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping wherever the kernel likes touches nothing that exists.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(start.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Advice may be refused (an older kernel, no transparent huge pages); all works without.
    fn advise(start: NonNull<u8>, bytes: usize, advice: i32) {
        // SAFETY: the range lies in a mapping of our own, and neither advice changes its content.
        unsafe { libc::madvise(start.as_ptr().cast(), bytes, advice) };
    }

    fn unmap(start: NonNull<u8>, bytes: usize) {
        // SAFETY: exactly the range that `map` returned; its owner is going or gone.
        unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
    }
}

#[cfg(loom)]
mod modelled {
    use std::io;

    use super::{Pages, Zeroed};

    /// The model's stand-in: loom's atomics are not plain memory.
    pub(in crate::track) struct Slab<T>(Box<[T]>);

    impl<T: Zeroed> Slab<T> {
        pub(in crate::track) fn new(len: usize, _: Pages) -> io::Result<Self> {
            Ok(Self((0..len).map(|_| T::zeroed()).collect()))
        }

        pub(in crate::track) fn bytes_for(len: usize) -> Option<usize> {
            len.checked_mul(size_of::<T>())
        }

        pub(in crate::track) fn bytes(&self) -> usize {
            size_of_val(&*self.0)
        }
    }

    impl<T> std::ops::Deref for Slab<T> {
        type Target = [T];

        fn deref(&self) -> &[T] {
            &self.0
        }
    }
}
