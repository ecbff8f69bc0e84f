#!/usr/bin/env bash
# Makes a guest for qemu: Debian's cloud kernel and an initramfs with busybox, dash, iproute2 and nft.
# Nothing of it is installed on this machine. Does nothing where it is done.
#
#   build.sh DIRECTORY [SUITE]    DIRECTORY/vmlinuz and DIRECTORY/initrd, of another Debian if SUITE says so
set -euo pipefail
source=$(cd "$(dirname "$0")" && pwd)
directory=$1
suite=${2:-}

stamp=$(cat "$source"/* | sha256sum)
if [ "$(cat "$directory/stamp" 2>/dev/null)" = "$stamp" ]; then exit 0; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt=(-o APT::Sandbox::User=root)
# A package of no content names the current kernel.
current() {
    apt-cache "${apt[@]}" depends linux-image-cloud-amd64 2>/dev/null | awk '$1 == "Depends:" { print $2; exit }'
}
if [ -n "$suite" ]; then
    # Lists of its own: this machine's stay as they are. What is old enough moves to the archive.
    apt+=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/sources" -o "Dir::State::lists=$work/lists")
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    mkdir -p sources lists/partial
    for mirror in deb archive; do
        echo "deb [signed-by=$key] http://$mirror.debian.org/debian $suite main" >sources/old.list
        apt-get "${apt[@]}" update -qq >/dev/null 2>&1 || true
        [ -z "$(current)" ] || break
    done
fi
apt-get "${apt[@]}" download -qq "$(current)" busybox-static
for package in *.deb; do dpkg-deb -x "$package" unpacked; done
version=$(ls unpacked/lib/modules)
modules=lib/modules/$version

mkdir -p root/{bin,sbin,dev,proc,run,sys,tmp,www} "root/$modules/kernel/drivers/net"
cp unpacked/bin/busybox root/bin/
program() { # with its libraries
    local path
    path=$(command -v "$1")
    cp -L "$path" "root/bin/$2"
    for file in $(ldd "$path" | grep -o '/[^ ]*'); do
        mkdir -p "root$(dirname "$file")"
        cp -L "$file" "root$file"
    done
}
program nft nft
program dash dash
program ip ip.iproute2 # until busybox's own name is free

from=unpacked/$modules
cp "$from"/modules.* "root/$modules/"
cp -r "$from"/kernel/{net,lib,crypto} "root/$modules/kernel/"
cp -r "$from"/kernel/drivers/virtio "root/$modules/kernel/drivers/"
for name in virtio_net net_failover dummy bonding tun; do
    cp -r "$(find "$from/kernel/drivers/net" -maxdepth 1 -name "$name*" | head -n 1)" \
        "root/$modules/kernel/drivers/net/"
done
unpacked/bin/busybox depmod -b root "$version"

install -m 755 "$source/init" "$source/door" root/
mkdir -p "$directory"
(cd root && find . | ../unpacked/bin/busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$directory/initrd"
cp "unpacked/boot/vmlinuz-$version" "$directory/vmlinuz"
cp unpacked/bin/busybox "$directory/busybox"
echo "$stamp" >"$directory/stamp"
echo "setup: made a guest with Linux $version in $directory"
