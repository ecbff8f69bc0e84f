//! Spreads memory over the NUMA nodes of the workers (D-3).

use std::path::PathBuf;

/// While it lives, pages that this thread is the first to touch come from several nodes in turn,
/// huge pages included. [`super::ConnectionTable::new`] touches all of its pages.
#[derive(Debug)]
pub struct Interleaved(());

impl Interleaved {
    /// Over the nodes of these CPUs. `None` if those are all of one node, or the kernel has no
    /// memory policies: nothing is changed then.
    pub fn over_nodes_of(cpus: &[usize]) -> Option<Self> {
        let nodes = cpus.iter().filter_map(|cpu| node_of(*cpu)).fold(0, |all, n| all | 1_u64 << n);
        (nodes.count_ones() > 1 && set_policy(libc::MPOL_INTERLEAVE, nodes)).then_some(Self(()))
    }
}

impl Drop for Interleaved {
    fn drop(&mut self) {
        set_policy(libc::MPOL_DEFAULT, 0);
    }
}

/// The node of a CPU, of the first 64.
fn node_of(cpu: usize) -> Option<u32> {
    let folder = PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}"));
    (0..64).find(|node| folder.join(format!("node{node}")).exists())
}

/// Whether the kernel took it.
fn set_policy(mode: libc::c_int, nodes: u64) -> bool {
    // The kernel takes one bit less than it is told.
    let bits = u64::BITS as usize + 1;
    // SAFETY: the kernel reads one u64 at the address, which is valid; it changes nothing but
    // where later pages of this thread come from.
    unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, &raw const nodes, bits) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_of_one_node_change_nothing_and_an_unknown_cpu_is_of_none() {
        assert!(Interleaved::over_nodes_of(&[0, 0]).is_none());
        assert_eq!(node_of(usize::MAX), None);
    }

    #[test]
    fn the_kernel_takes_the_policy_where_it_has_any() {
        // Node 0 always exists; a kernel without NUMA or a sandbox refuses, which is as good.
        if set_policy(libc::MPOL_INTERLEAVE, 1) {
            assert!(set_policy(libc::MPOL_DEFAULT, 0));
        }
    }
}
