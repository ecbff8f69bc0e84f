//! One frame is put into any tunnel: the outer headers are right, the inner packet is unchanged.

use dataplane::encap::{self, FlowLabel};
use dataplane::io::Frame;
use dataplane::io::mem::MemFrame;
use dataplane::parse;
use tables::{Family, Template};

use crate::{appliance, shape, wire};

/// Runs one input: which tunnel, the label, then the frame.
pub fn run(data: &[u8]) {
    let Some(([tunnel, a, b, kind], rest)) = data.split_first_chunk::<4>() else { return };
    let bytes = shape::frame(*kind, rest);
    let port = appliance::port();
    let Ok(parsed) = parse::frame(&bytes, &port) else { return };
    let inner = &bytes[usize::from(parsed.l3)..][..usize::from(parsed.length)];
    let v6 = parsed.flow.family() == Family::V6;
    let spec = appliance::spec(usize::from(*tunnel), if v6 { Family::V6 } else { Family::V4 });
    let template = Template::new(&spec).expect("one family");
    let label = FlowLabel(u32::from_be_bytes([*a, *b, *b, *a]));
    let mut frame = MemFrame::new(&bytes);
    match encap::apply(&mut frame, &parsed, &template, u16::from_be_bytes([*a, *b]), label) {
        Err(_) => assert_eq!(frame.bytes(), bytes, "an error leaves the frame as it was"),
        Ok(()) => {
            wire::check(frame.bytes());
            assert!(frame.bytes().ends_with(inner), "the inner packet is unchanged (N-1)");
        }
    }
}
