#!/bin/sh
# What the backends of service web need: packets for 203.0.113.10 come by L3DSR.
# From: windrose backend-setup web
#   rack-a/a1 10.0.1.11
#   rack-a/a2 10.0.1.12
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
if [ -z "$local4" ]; then
    echo "this host has no address of a backend of service web: 10.0.1.11 10.0.1.12" >&2
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

# Clients' packets come in here. Where the way back to clients is another interface, the strict
# check of sources (rp_filter) would drop them; the loose one does not.
link=$(link "$local4")
if [ "$(cat /proc/sys/net/ipv4/conf/all/rp_filter)" = 1 ] ||
    [ "$(cat "/proc/sys/net/ipv4/conf/$link/rp_filter")" = 1 ]; then
    raise "ipv4/conf/$link/rp_filter" 2
fi

# The segment has the VIP at the appliance or the router. This host must neither answer ARP for it
# (arp_ignore) nor name it as a sender in ARP of its own (arp_announce). IPv6 needs none of this: a
# host answers for the addresses of the interface that it is asked on.
raise ipv4/conf/all/arp_ignore 1
raise ipv4/conf/all/arp_announce 2

# The VIP.
hold vip-203.0.113.10
ip address replace 203.0.113.10/32 dev lo

# L3DSR: a packet to this backend's address with DSCP 5 is one for 203.0.113.10. Nothing else may
# send this host that code.
nft -f - <<END
table inet windrose-web-l3dsr4
delete table inet windrose-web-l3dsr4
table inet windrose-web-l3dsr4 {
    chain arriving {
        type filter hook prerouting priority raw
        ip daddr $local4 ip dscp 5 ip daddr set 203.0.113.10 ip dscp set cs0
    }
}
END
