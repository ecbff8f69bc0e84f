#!/bin/sh
# What the backends of service web need: packets for 203.0.113.10, 2001:db8:f::10 come by IP in IP.
# From: windrose backend-setup web --undo
#   rack-a/a1 10.0.1.11
#   rack-a/a2 10.0.1.12
#   rack-a/a3 2001:db8:1::13
# Takes back what the script without --undo sets up; what is gone is passed over, and
# what another service needs on the host stays.
set -eu

# This service needs something no more; says whether that is so of every service here.
notes=/run/windrose-backend
release() {
    rm -f "$notes/$1/web"
    rmdir "$notes/$1" 2>/dev/null || [ ! -d "$notes/$1" ]
}

# Gives one of the kernel's settings the value that it had.
restore() {
    note=$(echo "$1" | tr / .)
    if ! release "$note" || [ ! -e "$notes/$note.was" ]; then return; fi
    cat "$notes/$note.was" >"/proc/sys/net/$1"
    rm "$notes/$note.was"
}

nft delete table inet windrose-web 2>/dev/null || :
if release vip-2001:db8:f::10; then ip address del 2001:db8:f::10/128 dev lo 2>/dev/null || :; fi
if release vip-203.0.113.10; then ip address del 203.0.113.10/32 dev lo 2>/dev/null || :; fi
restore ipv4/conf/all/arp_announce
restore ipv4/conf/all/arp_ignore
if release wr-ip6tnl; then ip link del dev wr-ip6tnl 2>/dev/null || :; fi
if release wr-sit; then ip link del dev wr-sit 2>/dev/null || :; fi
if release wr-ipip; then ip link del dev wr-ipip 2>/dev/null || :; fi
