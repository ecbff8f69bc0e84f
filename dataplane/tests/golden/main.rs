//! Golden cases of parsing and encapsulation: named packet in → what was read, or packet out, byte
//! by byte. What is expected is made by hand or by etherparse, never by the code under test.

mod encap;
mod frames;
mod parse;
mod properties;
mod stages;
