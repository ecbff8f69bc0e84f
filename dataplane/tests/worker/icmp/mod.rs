//! ICMP: errors about connections and about our tunnels (S-7), answers to what is too big (D-8,
//! N-3), echo. Named frame in → frame out, byte by byte, and how it was counted.

mod around;
mod echo;
mod packets;
mod properties;
mod quotes;
mod tags;
mod too_big;
mod tunnel;
mod world;
