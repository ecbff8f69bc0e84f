//! The port's VLAN tag: frames on the host interface have none (N-4).

/// Where a tag stands: behind the two Ethernet addresses.
const PLACE: usize = 12;
pub(super) const LENGTH: usize = 4;

const VLAN: [u8; 2] = [0x81, 0x00];
const SERVICE_VLAN: [u8; 2] = [0x88, 0xA8];

/// The frame without its tag. What a worker hands over is of the port's VLAN, or has a priority
/// tag: either goes. `scratch` holds it where it differs.
pub(super) fn without<'f>(frame: &'f [u8], scratch: &'f mut Vec<u8>) -> &'f [u8] {
    match frame.get(PLACE..PLACE + 2) {
        Some(kind) if kind == VLAN || kind == SERVICE_VLAN => {
            scratch.clear();
            scratch.extend_from_slice(&frame[..PLACE]);
            scratch.extend_from_slice(frame.get(PLACE + LENGTH..).unwrap_or_default());
            scratch
        }
        _ => frame,
    }
}

/// Lets `read` write a frame into `buffer`, and gives it the tag of `vlan`; returns its length.
pub(super) fn with(
    vlan: u16,
    buffer: &mut [u8],
    read: impl FnOnce(&mut [u8]) -> Option<usize>,
) -> Option<usize> {
    if vlan == 0 {
        return read(buffer);
    }
    let length = read(buffer.get_mut(LENGTH..)?)?;
    if length < PLACE {
        return None;
    }
    buffer.copy_within(LENGTH..LENGTH + PLACE, 0);
    let [high, low] = vlan.to_be_bytes();
    let [kind0, kind1] = VLAN;
    buffer.get_mut(PLACE..PLACE + LENGTH)?.copy_from_slice(&[kind0, kind1, high, low]);
    Some(length + LENGTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(tag: &[u8]) -> Vec<u8> {
        [&[1; 6][..], &[2; 6], tag, &[0x08, 0x06, 7, 8, 9]].concat()
    }

    fn sent(vlan: u16, frame: &[u8]) -> Option<Vec<u8>> {
        let mut buffer = vec![0xFF; 64];
        let length = with(vlan, &mut buffer, |room| {
            room[..frame.len()].copy_from_slice(frame);
            Some(frame.len())
        })?;
        buffer.truncate(length);
        Some(buffer)
    }

    #[test]
    fn a_tag_comes_off_and_goes_on() {
        let mut scratch = Vec::new();
        let tags = [&[0x81, 0, 0, 10][..], &[0x81, 0, 0xE0, 0], &[0x88, 0xA8, 0, 10], &[]];
        for tag in tags {
            assert_eq!(without(&frame(tag), &mut scratch), frame(&[]), "{tag:?}");
        }
        assert_eq!(sent(10, &frame(&[])).unwrap(), frame(&[0x81, 0, 0, 10]));
        assert_eq!(sent(0, &frame(&[])).unwrap(), frame(&[]));
    }

    #[test]
    fn what_is_too_short_for_a_tag_has_none_and_gets_none() {
        let mut scratch = Vec::new();
        assert_eq!(without(&[1, 2, 3], &mut scratch), [1, 2, 3]);
        assert_eq!(without(&frame(&[])[..13], &mut scratch), &frame(&[])[..13]);
        assert_eq!(without(&frame(&[0x81, 0])[..14], &mut scratch), &frame(&[])[..12]);
        assert_eq!(sent(10, &[1, 2, 3]), None);
    }
}
