#!/usr/bin/env bash
# Compares the worker's path with that of an earlier revision: `ab.sh <revision> [runs] [cases]`.
# Both are built with the harness as it is here, and take turns.
set -euo pipefail
cd "$(dirname "$0")/.."

base=${1:?which revision? make bench-ab BASE=rev}
runs=${2:-5}
cases=${3:-established}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
out=$target/bench/ab
tree=$(mktemp -d)
trap 'git worktree remove --force "$tree"' EXIT

git worktree add --quiet --detach --force "$tree" "$base"
rm -rf "$tree/bench" "$out"
cp -r bench "$tree/bench"
# A revision from before the harness does not name it yet.
grep -q '"bench"' "$tree/Cargo.toml" || sed -i 's/^members = \[/&"bench",/' "$tree/Cargo.toml"
cp Cargo.lock "$tree/Cargo.lock"

echo "building $base and what is here"
cargo build --release --package bench --quiet
if ! CARGO_TARGET_DIR="$target/ab-base" cargo build --release --package bench --quiet \
    --manifest-path "$tree/Cargo.toml"; then
    echo "$base does not build with today's harness: its own may fit, in a checkout of it" >&2
    exit 1
fi

arguments=()
for run in $(seq "$runs"); do
    for side in base new; do
        program=$target/release/bench
        [ "$side" = new ] || program=$target/ab-base/release/bench
        "$program" path --rounds 3 --only "$cases" --out "$out/$side-$run" >/dev/null
        arguments+=("--$side" "$out/$side-$run")
    done
    echo "run $run of $runs"
done
"$target/release/bench" compare "${arguments[@]}" --out "$out"
