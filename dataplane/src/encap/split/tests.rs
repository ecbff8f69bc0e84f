//! Fragments put together again, and options.

use super::*;

/// A packet of `payload` bytes with these options and this place; checksum right.
fn packet(options: &[u8], place: u16, payload: usize) -> Vec<u8> {
    let length = HEADER + options.len();
    let mut packet = vec![0x40 | (length / 4) as u8, 0xB8];
    packet.extend(((length + payload) as u16).to_be_bytes());
    packet.extend([0x12, 0x34]);
    packet.extend(place.to_be_bytes());
    packet.extend([61, 17, 0, 0, 198, 51, 100, 7, 203, 0, 113, 10]);
    packet.extend(options);
    let sum = checksum::of(checksum::sum(&packet)).to_be_bytes();
    packet[10..12].copy_from_slice(&sum);
    packet.extend((0..payload).map(|i| (i * 7) as u8));
    packet
}

/// Puts the fragments' payloads in their places; checks what all headers must have.
fn together(packet: &[u8], largest: u16) -> (Vec<u8>, Vec<u16>) {
    let mut payload = Vec::new();
    let mut places = Vec::new();
    let start = usize::from(u16::from_be_bytes([packet[6], packet[7]]) & OFFSET) * UNIT;
    for piece in Pieces::of(packet, largest).expect("fragments") {
        let header = &piece.header;
        let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
        assert_eq!(total, header.len() + piece.payload.len());
        assert!(total <= usize::from(largest), "{total} in {largest}");
        assert_eq!(checksum::sum(header), 0xFFFF, "the header's checksum");
        assert_eq!([header[1], header[8], header[9]], [0xB8, 61, 17]);
        assert_eq!((&header[4..6], &header[12..20]), (&packet[4..6], &packet[12..20]));
        let place = u16::from_be_bytes([header[6], header[7]]);
        assert_eq!(usize::from(place & OFFSET) * UNIT, start + payload.len());
        assert_eq!(piece.first, place & OFFSET == 0);
        payload.extend(piece.payload);
        places.push(place);
    }
    (payload, places)
}

#[test]
fn fragments_are_whole_again_in_every_size() {
    for size in 1..400 {
        let packet = packet(&[], 0, size);
        for largest in [28, 29, 35, 36, 100, 256, 300] {
            let (payload, places) = together(&packet, largest);
            assert_eq!(payload, packet[HEADER..], "{size} in {largest}");
            let (last, others) = places.split_last().expect("at least one");
            assert!(last & MORE == 0 && others.iter().all(|place| place & MORE != 0));
        }
    }
}

#[test]
fn as_much_goes_into_each_fragment_as_fits() {
    let (_, places) = together(&packet(&[], 0, 2952), 1480);
    assert_eq!(places, [MORE, MORE | 182, 364]);
}

#[test]
fn a_fragment_of_a_fragment_keeps_its_place_and_that_more_follow() {
    let middle = packet(&[], MORE | 100, 96);
    let (payload, places) = together(&middle, 60);
    assert_eq!(payload, middle[HEADER..]);
    assert_eq!(places, [MORE | 100, MORE | 105, MORE | 110]);
    let last = packet(&[], 100, 96);
    assert_eq!(together(&last, 60).1, [MORE | 100, MORE | 105, 110]);
}

#[test]
fn later_fragments_have_only_the_options_that_are_to_be_copied() {
    let route = [0x83, 7, 4, 10, 0, 0, 1];
    let record = [0x07, 7, 4, 0, 0, 0, 0];
    let options = [&[NO_OPERATION][..], &record, &route, &[END]].concat();
    let packet = packet(&options, 0, 100);
    let pieces: Vec<_> = Pieces::of(&packet, 84).expect("fragments").collect();
    assert_eq!(pieces[0].header[HEADER..], options);
    assert_eq!(pieces[1].header[HEADER..], [0x83, 7, 4, 10, 0, 0, 1, END]);
    assert_eq!(pieces[1].header[0], 0x47, "the shorter header leaves room");
    assert_eq!(together(&packet, 84).0, packet[HEADER + options.len()..]);
}

#[test]
fn an_option_with_a_wrong_length_ends_the_list() {
    for bad in [[0x83, 0, 0, 0], [0x83, 1, 0, 0], [0x83, 5, 0, 0]] {
        let packet = packet(&bad, 0, 100);
        let pieces: Vec<_> = Pieces::of(&packet, 60).expect("fragments").collect();
        assert_eq!(pieces[1].header.len(), HEADER, "{bad:?}");
    }
}

#[test]
fn what_cannot_be_fragmented_is_told_apart() {
    let of = |packet: &[u8], largest| Pieces::of(packet, largest).err();
    assert_eq!(of(&packet(&[], 0, 100), 27), Some(Whole::NoRoom), "no room for a unit");
    assert_eq!(of(&packet(&[], 8191, 100), 60), Some(Whole::NoRoom), "beyond every packet");
    let mut wrong = packet(&[], 0, 100);
    wrong[8] -= 1;
    assert_eq!(of(&wrong, 60), Some(Whole::BadHeader), "a wrong checksum");
    assert_eq!(of(&[], 60), Some(Whole::BadHeader));
}
