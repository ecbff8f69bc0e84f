#!/bin/sh
# What the backends of service web need: packets for 203.0.113.10, 2001:db8:f::10 come by IP in IP.
# From: windrose backend-setup web
#   rack-a/a1 10.0.1.11
#   rack-a/a2 10.0.1.12
#   rack-a/a3 2001:db8:1::13
# Run it as root on each of these hosts. Running it again changes nothing.
# A reboot forgets it: run it at each boot.
set -eu

# Which of these addresses this host has; and the interface that has one.
own() {
    for address in "$@"; do
        if [ -n "$(ip -o address show to "$address")" ]; then echo "$address"; fi
    done | head -n 1
}
link() { ip -o address show to "$1" | awk 'NR == 1 { print $2 }'; }
local4=$(own 10.0.1.11 10.0.1.12)
local6=$(own 2001:db8:1::13)
if [ -z "$local4$local6" ]; then
    echo "this host has no address of a backend of service web: 10.0.1.11 10.0.1.12 2001:db8:1::13" >&2
    exit 1
fi

# Notes that this service needs something here, for the undo: others may need it too.
notes=/run/windrose-backend
hold() { mkdir -p "$notes/$1" && : >"$notes/$1/web"; }

# Sets one of the kernel's settings if it is lower, and keeps what it was.
raise() {
    note=$(echo "$1" | tr / .)
    hold "$note"
    was=$(cat "/proc/sys/net/$1")
    if [ "$was" -ge "$2" ]; then return; fi
    if [ ! -e "$notes/$note.was" ]; then echo "$was" >"$notes/$note.was"; fi
    echo "$2" >"/proc/sys/net/$1"
}

if [ -n "$local4" ]; then
    # The appliance sends packets of up to 1500 bytes, the outer header included; what this host's
    # interface does not take is lost without a word.
    mtu=$(cat "/sys/class/net/$(link "$local4")/mtu")
    if [ "$mtu" -lt 1500 ]; then
        echo "warning: $(link "$local4") has MTU $mtu; give it 1500, or the appliance's port less" >&2
    fi

    # The tunnel's end, IPv4 in IPv4. From any sender: every appliance, and every outer source that it
    # spreads.
    hold wr-ipip
    ip link show dev wr-ipip >/dev/null 2>&1 ||
        ip link add name wr-ipip type ipip local "$local4" remote any
    ip link set dev wr-ipip up

    # What comes out of the tunnel is from clients, and the way back to them is another interface. The
    # kernel's strict check of sources (rp_filter) would drop it; the loose one does not, if the device
    # has an address: any, so a dummy one (RFC 7600).
    ip address replace 192.0.0.8/32 dev wr-ipip
    echo 2 >/proc/sys/net/ipv4/conf/wr-ipip/rp_filter

    # The tunnel's end, IPv6 in IPv4. From any sender: every appliance, and every outer source that it
    # spreads.
    hold wr-sit
    ip link show dev wr-sit >/dev/null 2>&1 ||
        ip link add name wr-sit type sit local "$local4" remote any
    ip link set dev wr-sit up
fi

if [ -n "$local6" ]; then
    # The appliance sends packets of up to 1500 bytes, the outer header included; what this host's
    # interface does not take is lost without a word.
    mtu=$(cat "/sys/class/net/$(link "$local6")/mtu")
    if [ "$mtu" -lt 1500 ]; then
        echo "warning: $(link "$local6") has MTU $mtu; give it 1500, or the appliance's port less" >&2
    fi

    # The tunnel's end, IPv4 or IPv6 in IPv6. From any sender: every appliance, and every outer source
    # that it spreads.
    hold wr-ip6tnl
    ip link show dev wr-ip6tnl >/dev/null 2>&1 ||
        ip link add name wr-ip6tnl type ip6tnl mode any local "$local6" remote any
    ip link set dev wr-ip6tnl up

    # What comes out of the tunnel is from clients, and the way back to them is another interface. The
    # kernel's strict check of sources (rp_filter) would drop it; the loose one does not, if the device
    # has an address: any, so a dummy one (RFC 7600).
    ip address replace 192.0.0.8/32 dev wr-ip6tnl
    echo 2 >/proc/sys/net/ipv4/conf/wr-ip6tnl/rp_filter
fi

# The segment has the VIP at the appliance or the router. This host must neither answer ARP for it
# (arp_ignore) nor name it as a sender in ARP of its own (arp_announce). IPv6 needs none of this: a
# host answers for the addresses of the interface that it is asked on.
raise ipv4/conf/all/arp_ignore 1
raise ipv4/conf/all/arp_announce 2

# The VIP.
hold vip-203.0.113.10
ip address replace 203.0.113.10/32 dev lo

# The VIP; deprecated, so that the host's own connections never start from it.
hold vip-2001:db8:f::10
ip address replace 2001:db8:f::10/128 dev lo preferred_lft 0

# Clients are told segments that fit the tunnel. (Smaller ones stay as they are. Without nft a
# client learns the size from the appliance's "too big", if that reaches it.)
if command -v nft >/dev/null; then
    nft -f - <<'END'
table inet windrose-web
delete table inet windrose-web
table inet windrose-web {
    chain leaving {
        type filter hook output priority mangle
        ip saddr 203.0.113.10 tcp flags & (syn | rst) == syn tcp option maxseg size set 1420
        ip6 saddr 2001:db8:f::10 tcp flags & (syn | rst) == syn tcp option maxseg size set 1400
    }
}
END
else
    echo "warning: no nft: segments are not clamped" >&2
fi
