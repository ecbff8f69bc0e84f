#!/usr/bin/env bash
# Boots systemd over a throw-away copy of this machine. Runs as the first process of its own namespaces (mount, pid, ipc,
# uts, cgroup) and becomes systemd; nothing that happens inside is seen outside, or left behind.
#
#   machine.sh DIRECTORY      an empty one for what it needs; DIRECTORY/share is /mnt inside
set -euo pipefail
base=$1
mount --make-rprivate /
share=$base/share
mkdir -p "$base/tree"
mount -t tmpfs none "$base/tree"
cd "$base/tree"
mkdir changes work root
# What is read is this machine's, what is written is in memory.
mount -t overlay overlay -o lowerdir=/,upperdir=changes,workdir=work root
cd root

mount -t proc proc proc
# The kernel's settings are this machine's, but for the network's, which this namespace has of its own.
mount --bind proc/sys proc/sys
mount --bind proc/sys/net proc/sys/net
mount -o remount,bind,ro proc/sys
mount -o remount,bind,rw proc/sys/net
mount -t sysfs -o ro sys sys
mount -t cgroup2 cgroup sys/fs/cgroup
mount -t tmpfs -o mode=755 run run
mount -t tmpfs tmp tmp
mount --bind "$share" mnt
mount -t tmpfs -o mode=755 dev dev
mkdir dev/net dev/pts dev/shm
touch dev/console
for device in null zero full random urandom tty net/tun; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
mount --bind /dev/null dev/console

# Only the journal and what the test starts: not the services of this machine.
rm -rf etc/systemd/system/*.wants {,usr/}lib/systemd/system/*.wants
mkdir -p etc/systemd/system/basic.target.wants
ln -s /lib/systemd/system/systemd-journald.service etc/systemd/system/basic.target.wants/
mkdir -p etc/systemd/journald.conf.d
printf '[Journal]\nStorage=volatile\nRateLimitBurst=0\n' >etc/systemd/journald.conf.d/test.conf

export container=testbed
exec chroot . /lib/systemd/systemd --unit=basic.target --log-target=journal --show-status=no
