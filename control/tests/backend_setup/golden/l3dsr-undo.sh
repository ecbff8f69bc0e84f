#!/bin/sh
# What the backends of service web need: packets for 203.0.113.10 come by L3DSR.
# From: windrose backend-setup web --undo
#   rack-a/a1 10.0.1.11
#   rack-a/a2 10.0.1.12
# Takes back what the script without --undo sets up; what is gone is passed over, and
# what another service needs on the host stays.
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

nft delete table inet windrose-web-l3dsr4 2>/dev/null || :
if release vip-203.0.113.10; then ip address del 203.0.113.10/32 dev lo 2>/dev/null || :; fi
restore ipv4/conf/all/arp_announce
restore ipv4/conf/all/arp_ignore
restore "ipv4/conf/$(link "$local4")/rp_filter"
