#!/usr/bin/env bash
# Adds a program to a guest: with its libraries, and the drivers of DPDK that a veth or virtio card needs.
#
#   add.sh DIRECTORY PROGRAM INITRD    the guest's own files, and /bin/PROGRAM, in INITRD
set -euo pipefail
directory=$(cd "$1" && pwd) program=$2 initrd=$3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
add() {
    mkdir -p "$work$(dirname "$1")"
    cp -L "$1" "$work$1"
}
mkdir -p "$work/bin"
cp -L "$program" "$work/bin/"
for file in $(ldd "$program" | grep -o '/[^ ]*') \
    /usr/lib/*/dpdk/pmds-*/librte_{bus_vdev,mempool_ring,net_af_packet}.so*; do
    add "$file"
done
# The kernel unpacks one archive after the other; each begins at a multiple of four.
cp "$directory/initrd" "$initrd"
truncate -s %4 "$initrd"
(cd "$work" && find . | "$directory/busybox" cpio -o -H newc 2>/dev/null) >>"$initrd"
