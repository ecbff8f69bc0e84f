//! One packet buffer, owned.

use std::ptr::NonNull;

use dpdk_sys::{rte_mbuf, shim_mbuf};

/// A packet buffer with one frame in one piece; freed on drop.
///
/// Invariant, kept by everything that makes one: exactly one reference, which is this; one segment
/// (`nb_segs` = 1, `next` = null, `pkt_len` = `data_len`); `data_off + data_len <= buf_len`.
#[derive(Debug)]
#[repr(transparent)]
pub struct Mbuf(NonNull<rte_mbuf>);

// SAFETY: an mbuf belongs to nobody but its owner, and DPDK's pools take it back from any thread.
unsafe impl Send for Mbuf {}

impl Drop for Mbuf {
    fn drop(&mut self) {
        // SAFETY: ours, and not used afterwards.
        unsafe { dpdk_sys::shim_free(self.0.as_ptr()) }
    }
}

impl Mbuf {
    /// The frame.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        let head = self.head();
        // SAFETY: by the invariant the range lies within the buffer, which nobody else has.
        unsafe {
            std::slice::from_raw_parts(
                head.buf_addr.cast::<u8>().add(head.data_off.into()),
                head.data_len.into(),
            )
        }
    }

    /// The frame, to change.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let head = self.head();
        // SAFETY: as in `bytes`; `&mut self` makes it the only view.
        unsafe {
            std::slice::from_raw_parts_mut(
                head.buf_addr.cast::<u8>().add(head.data_off.into()),
                head.data_len.into(),
            )
        }
    }

    /// Bytes in front of the frame.
    #[inline]
    pub fn headroom(&self) -> u16 {
        self.head().data_off
    }

    /// Bytes behind the frame.
    #[inline]
    pub fn tailroom(&self) -> u16 {
        let head = self.head();
        head.buf_len - head.data_off - head.data_len
    }

    /// Moves the start of the frame: `grow` > 0 claims that many bytes of headroom (what is in them
    /// is undefined), < 0 gives bytes back. False, and nothing changed, if there is no room.
    #[inline]
    pub fn move_start(&mut self, grow: isize) -> bool {
        let head = self.head_mut();
        let offset = (head.data_off as isize).checked_sub(grow).and_then(|n| u16::try_from(n).ok());
        let length = (head.data_len as isize).checked_add(grow).and_then(|n| u16::try_from(n).ok());
        let (Some(offset), Some(length)) = (offset, length) else { return false };
        head.data_off = offset;
        set_len(head, length);
        true
    }

    /// Cuts the frame to `len` bytes; a longer `len` changes nothing.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        let head = self.head_mut();
        if len < head.data_len.into() {
            set_len(head, len as u16);
        }
    }

    /// Appends a copy of `bytes`. False, and nothing changed, if there is no room.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) -> bool {
        if bytes.len() > self.tailroom().into() {
            return false;
        }
        let end = usize::from(self.head().data_len);
        let head = self.head_mut();
        set_len(head, (end + bytes.len()) as u16);
        self.bytes_mut()[end..].copy_from_slice(bytes);
        true
    }

    pub(crate) fn raw(&self) -> *mut rte_mbuf {
        self.0.as_ptr()
    }

    #[inline]
    pub(crate) fn head(&self) -> &shim_mbuf {
        // SAFETY: the head of an rte_mbuf is laid out as shim_mbuf (checked where the shim is
        // compiled), lives as long as its pool, that is for ever, and is ours.
        unsafe { self.0.cast().as_ref() }
    }

    #[inline]
    pub(crate) fn head_mut(&mut self) -> &mut shim_mbuf {
        // SAFETY: as in `head`; `&mut self` makes it the only view.
        unsafe { self.0.cast().as_mut() }
    }
}

#[inline]
fn set_len(head: &mut shim_mbuf, len: u16) {
    head.data_len = len;
    head.pkt_len = len.into();
}
