//! The packet, as a person writes it: `tcp 198.51.100.7:40000 > 203.0.113.10:80 S`.

use std::fmt::Write;

use crate::simulate::scenario::{
    Flags, Packet, PacketError, Tuple, packet_tuple, protocol_by_name, protocol_name,
};

/// Why a question is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// Not of the form.
    #[error("{0:?} is no packet: write PROTOCOL SOURCE > DESTINATION [FLAGS]; {EXAMPLES}")]
    Form(String),
    /// Not a port.
    #[error("{0:?} is no port of 0 to 65535; {EXAMPLES}")]
    Port(String),
    /// A part of it.
    #[error("{0}; {EXAMPLES}")]
    Packet(#[from] PacketError),
}

const EXAMPLES: &str = "for example 'tcp 198.51.100.7:40000 > 203.0.113.10:80', \
                        'udp [2001:db8::7]:5000 > [2001:db8::10]:53' or \
                        'icmp 198.51.100.7 > 203.0.113.10'";

/// Reads a question. TCP without flags is taken as a SYN: a new connection.
///
/// # Errors
/// What is not understood, with an example.
pub fn parse(text: &str) -> Result<Packet, QuestionError> {
    let form = || QuestionError::Form(text.to_owned());
    let spaced = text.replace('>', " > ");
    let words: Vec<_> = spaced.split_whitespace().collect();
    let (protocol, src, dst, flags) = match *words.as_slice() {
        [protocol, src, ">", dst] => (protocol, src, dst, None),
        [protocol, src, ">", dst, flags] => (protocol, src, dst, Some(flags)),
        _ => return Err(form()),
    };
    let protocol = protocol_by_name(&protocol.to_ascii_lowercase())?;
    let (src, sport) = end(src)?;
    let (dst, dport) = end(dst)?;
    let tuple = packet_tuple(protocol, src, dst, (sport, dport), true)?;
    let tcp = protocol == 6;
    if flags.is_some() && !tcp {
        return Err(PacketError::Flags(protocol_name(protocol)).into());
    }
    let flags = Flags::parse(flags.unwrap_or(if tcp { "S" } else { "" }))?;
    Ok(Packet { tuple, flags, fragment: None, quote: None, port: None })
}

/// `a.b.c.d`, `a.b.c.d:port`, `[v6]:port`, `[v6]` or `v6`.
fn end(text: &str) -> Result<(&str, Option<u16>), QuestionError> {
    let port = |port: &str| port.parse().map_err(|_| QuestionError::Port(port.to_owned()));
    if let Some((address, rest)) = text.strip_prefix('[').and_then(|t| t.split_once(']')) {
        return match rest.strip_prefix(':') {
            Some(number) => Ok((address, Some(port(number)?))),
            None if rest.is_empty() => Ok((address, None)),
            None => Err(QuestionError::Form(text.to_owned())),
        };
    }
    match text.split_once(':') {
        Some((address, number)) if !number.contains(':') => Ok((address, Some(port(number)?))),
        _ => Ok((text, None)),
    }
}

/// The packet as it is asked for.
pub(super) fn written(packet: &Packet) -> String {
    let Tuple { protocol, src, dst, sport, dport } = packet.tuple;
    let ports = matches!(protocol, 6 | 17);
    let end = |address: std::net::IpAddr, port: u16| match (ports, address.is_ipv4()) {
        (false, _) => address.to_string(),
        (true, true) => format!("{address}:{port}"),
        (true, false) => format!("[{address}]:{port}"),
    };
    let mut text = protocol_name(protocol);
    let _ = write!(text, " {} > {}", end(src, sport), end(dst, dport));
    if protocol == 6 {
        let _ = write!(text, "{}", if packet.flags.syn() { ", SYN" } else { ", no SYN" });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_as_people_write_them() {
        for (text, again) in [
            (
                "tcp 198.51.100.7:40000 > 203.0.113.10:80",
                "tcp 198.51.100.7:40000 > 203.0.113.10:80, SYN",
            ),
            (
                "TCP 198.51.100.7:1>203.0.113.10:80 A",
                "tcp 198.51.100.7:1 > 203.0.113.10:80, no SYN",
            ),
            ("udp [2001:db8::7]:5 > [2001:db8::10]:53", "udp [2001:db8::7]:5 > [2001:db8::10]:53"),
            ("icmpv6 2001:db8::7 > 2001:db8::10", "icmpv6 2001:db8::7 > 2001:db8::10"),
            ("50 198.51.100.7 > 203.0.113.10", "esp 198.51.100.7 > 203.0.113.10"),
        ] {
            assert_eq!(written(&parse(text).expect(text)), again);
        }
    }

    #[test]
    fn what_is_no_question_is_answered_with_an_example() {
        for (text, why) in [
            ("", "is no packet: write PROTOCOL SOURCE > DESTINATION"),
            ("tcp 1.2.3.4:5 203.0.113.10:80", "is no packet"),
            ("tcp 198.51.100.7 > 203.0.113.10:80", "tcp has ports: sport is missing"),
            ("tcp 198.51.100.7:99999 > 203.0.113.10:80", "\"99999\" is no port"),
            ("sctp 198.51.100.7:9 > 203.0.113.10:80", "protocol = \"sctp\" is unknown"),
            ("tcp 198.51.100:9 > 203.0.113.10:80", "\"198.51.100\" is no IPv4 or IPv6 address"),
            ("tcp [2001:db8::7]:1 > 203.0.113.10:80", "not of one address family"),
            ("udp 198.51.100.7:9 > 203.0.113.10:80 S", "flags: udp has none"),
            ("tcp 198.51.100.7:9 > 203.0.113.10:80 X", "'X' is no flag"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(why) && error.contains("for example 'tcp"), "{error}");
        }
    }
}
