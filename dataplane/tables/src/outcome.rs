//! How a packet ends: in exactly one of these (D-7).

macro_rules! outcomes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// The one way in which a received packet ended. What arrived is the sum of the outcomes
        /// and of what is still held.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Outcome {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Outcome {
            /// Every outcome, in the order of the counters.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The name in metrics, logs and the output of commands.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// One sentence for a person.
            pub const fn describe(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($doc,)+),)+
                }
            }
        }
    };
}

outcomes! {
    /// Encapsulated and sent to a backend.
    Forwarded = "forwarded",
    /// A health check's packet from the host, encapsulated and sent to its backend (W-8).
    Probe = "probe",
    /// Handed to the host interface.
    Host = "host",
    /// For the host, but the port has no host interface.
    NoHostInterface = "no_host_interface",
    /// For the host, but the queue to it was full.
    HostFull = "host_full",
    /// To a unicast Ethernet address that is not the port's, or from the port's own.
    NotOurMac = "not_our_mac",
    /// Of another VLAN than the port's (N-4).
    WrongVlan = "wrong_vlan",
    /// The frame is shorter than the IP packet says: cut on its way in.
    RxTruncated = "rx_truncated",
    /// An Ethernet or IP header that is too short or contradicts itself.
    MalformedIp = "malformed_ip",
    /// An IPv4 header that was damaged on its way: its checksum is wrong.
    WrongChecksum = "wrong_checksum",
    /// A TCP, UDP or ICMP header that is too short or contradicts itself.
    MalformedL4 = "malformed_l4",
    /// To an address that a rule claims, from one that no packet on a wire comes from, or from itself.
    MartianSource = "martian_source",
    /// To an address that a rule claims, with no hop left.
    TtlExpired = "ttl_expired",
    /// To an address that a rule claims, but no rule takes it (F-4).
    VipNoRule = "vip_no_rule",
    /// The client is not in the rule's client_allow.
    ClientDenied = "client_denied",
    /// Nobody was eligible (E-1, E-4, E-6).
    NoEligibleBackend = "no_eligible_backend",
    /// A later fragment whose first one did not come in time (S-6).
    FragmentNoFirst = "fragment_no_first",
    /// A fragment that waited for its first one and gave way to those that came later (S-6).
    FragmentHeldFull = "fragment_held_full",
    /// Larger than the next hop's MTU after encapsulation.
    TooBig = "too_big",
    /// The same, and larger than the MTU of the port that it came in by: segments that a virtual or
    /// real NIC has put together.
    OversizeFrame = "oversize_frame",
    /// An echo request to a VIP that no rule takes ICMP for, answered.
    EchoAnswered = "echo_answered",
    /// The same, but icmp_rate answers were sent already.
    IcmpRateLimited = "icmp_rate_limited",
    /// An ICMP error about one of our own outer headers (S-7).
    TunnelError = "tunnel_error",
    /// The next hop's Ethernet address is not known, or there is no way to the backend.
    NextHopUnresolved = "next_hop_unresolved",
    /// From one of our tunnel sources with an encapsulation's protocol: our own packet came back (N-5).
    Loop = "loop",
    /// No room in the buffer for the outer header.
    NoHeadroom = "no_headroom",
    /// No free buffer for one of the fragments that it would have left in.
    NoBuffer = "no_buffer",
    /// The transmit queue was full.
    TxFull = "tx_full",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_numbered_as_listed_and_named_apart() {
        for (i, outcome) in Outcome::ALL.iter().enumerate() {
            assert_eq!(*outcome as usize, i);
        }
        let names: std::collections::BTreeSet<_> = Outcome::ALL.iter().map(|o| o.name()).collect();
        assert_eq!(names.len(), Outcome::COUNT);
    }
}
