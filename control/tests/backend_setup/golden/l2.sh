#!/bin/sh
# What the backends of service web need: packets for 2001:db8:f::10 come by Ethernet alone.
# From: windrose backend-setup web
#   rack-a/a3 2001:db8:1::13
# Run it as root on each of these hosts. Running it again changes nothing.
# A reboot forgets it: run it at each boot.
set -eu

# Notes that this service needs something here, for the undo: others may need it too.
notes=/run/windrose-backend
hold() { mkdir -p "$notes/$1" && : >"$notes/$1/web"; }

# The VIP; deprecated, so that the host's own connections never start from it.
hold vip-2001:db8:f::10
ip address replace 2001:db8:f::10/128 dev lo preferred_lft 0
