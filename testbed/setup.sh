#!/usr/bin/env bash
# Installs what `make` needs from Debian, and reserves huge pages. Does nothing that is done.
#
#   setup.sh build    what compiling needs
#   setup.sh run      and what tests and the demo need, with a guest for qemu in /var/cache/windrose-guest
set -euo pipefail

build=(build-essential pkg-config libdpdk-dev libclang-14-dev)
run=(dpdk nginx-light bird2 iproute2 ethtool iputils-ping util-linux curl tshark nftables systemd xz-utils
    procps python3-yaml qemu-system-x86 ansible-core netplan.io)
pages=512 # of 2 MB

if ! command -v cargo >/dev/null; then
    echo "setup: cargo is not on the PATH; install Rust, or, if it is your own user's and" >&2
    echo "setup: sudo hides it: sudo -E env PATH=\"\$PATH:/usr/sbin\" make ..." >&2
    exit 1
fi

packages=("${build[@]}")
if [ "${1:-run}" = run ]; then packages+=("${run[@]}"); fi

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    [ "$status" = "install ok installed" ] || missing+=("$package")
done

if [ ${#missing[@]} -gt 0 ]; then
    if [ "$(id -u)" -ne 0 ]; then
        echo "setup: missing packages: ${missing[*]}" >&2
        echo "setup: run this as root, or install them: sudo apt-get install ${missing[*]}" >&2
        exit 1
    fi
    echo "setup: installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # RUNLEVEL=1: nginx and bird are for the tests' own use, not to be started as services.
    RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
    # Where systemd runs, that alone does not keep it from doing so.
    for service in nginx bird; do
        if [[ " ${missing[*]} " = *" $service"* ]] && [ -d /run/systemd/system ]; then
            systemctl disable --now --quiet "$service" || true
        fi
    done
fi

[ "${1:-run}" = run ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "setup: network namespaces need root: run make with sudo" >&2
    exit 1
fi

# Huge pages are welcome, not needed: where they cannot be had, DPDK takes ordinary ones.
available=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
control=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
if [ -w "$control" ] && [ "$(cat "$control")" -eq 0 ] && [ "$available" -gt 4096 ]; then
    if echo "$pages" >"$control" 2>/dev/null; then
        echo "setup: reserved $(cat "$control") huge pages of 2 MB (echo 0 > $control gives them back)"
    fi
fi
if [ -r "$control" ] && [ "$(cat "$control")" -gt 0 ] && ! grep -q ' hugetlbfs ' /proc/mounts; then
    mkdir -p /dev/hugepages && mount -t hugetlbfs none /dev/hugepages ||
        echo "setup: no hugetlbfs mount; ordinary pages will do"
fi

# A test with a kernel of its own is passed over where this fails; it says so itself.
"$(dirname "$0")/guest/build.sh" /var/cache/windrose-guest ||
    echo "setup: no guest for qemu: the tests that need it (backend_setup, lacp) will be ignored" >&2
# Linux 5.10: before kernels kept neighbours resolved that they are asked to.
"$(dirname "$0")/guest/build.sh" /var/cache/windrose-guest-old bullseye ||
    echo "setup: no guest with an old kernel: the test that needs it (old_kernel) will be ignored" >&2
