//! `windrose pcap`, run as a user would: captures in, captures out, judged byte by byte and by
//! tshark.

mod capture;
mod checksums;
mod golden;
mod refusals;
mod tshark;
