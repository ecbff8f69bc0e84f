#!/usr/bin/env bash
# Everything that `bench` measures, one after the other: `run.sh quick` or `run.sh full`.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=${1:-quick}
target=${CARGO_TARGET_DIR:-target}
out=$target/bench
rounds=9
sizes=(1000000 4000000)
if [ "$mode" = full ]; then
    rounds=21
    sizes+=(16000000)
fi

if ! command -v dpdk-testpmd >/dev/null; then
    echo "the unit will be a loop of ours: dpdk-testpmd is in Debian's dpdk-dev"
fi
cargo build --release --package bench --quiet
bench() { "$target/release/bench" "$@" --out "$out"; }

# The tables as they were printed, beside the files of each part.
mkdir -p "$out"
exec > >(tee "$out/run.txt")

echo "$(git rev-parse --short HEAD), $(date -u +%F), load $(cut -d' ' -f1-3 /proc/loadavg)"
bench allocations
bench path --rounds "$rounds"
bench ports --rounds "$rounds"
bench lookup --rounds "$rounds" "${sizes[@]}"
bench scaling --rounds "$rounds"
bench publication --rounds "$rounds"
bench maglev --rounds "$rounds"
bench instructions
if [ "$mode" = full ]; then
    # With --target the flags are not those of build scripts.
    host=$(rustc -vV | sed -n 's/^host: //p')
    RUSTFLAGS="-Ctarget-cpu=x86-64-v3" cargo build --release --package bench --quiet \
        --target-dir "$target/v3" --target "$host"
    "$target/v3/$host/release/bench" instructions --build x86-64-v3 --out "$out"
fi
echo "written to $out"
