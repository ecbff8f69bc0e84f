//! Small safe types over dpdk-sys.
