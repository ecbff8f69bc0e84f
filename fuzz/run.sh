#!/usr/bin/env bash
# Fuzzes targets, each for a while: fuzz/run.sh [TARGET...]
#
#   FUZZ_SECONDS=20   how long each
#   ASAN=1            with AddressSanitizer
#   CONFIG=1          the target `config` too: it needs DPDK to build
#
# A stable compiler will do: the coverage that libFuzzer wants is an option of LLVM. What is found
# is in fuzz/artifacts; keep it in fuzz/seeds/TARGET, under a name that says what it was.
set -euo pipefail
cd "$(dirname "$0")"

host=$(rustc -vV | sed -n 's/^host: //p')
targets=(parse quote encapsulation fragments worker)
features=libfuzzer
flags="--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module"
for pass in level=4 inline-8bit-counters pc-table trace-compares; do
    flags+=" -Cllvm-args=-sanitizer-coverage-$pass"
done
if [ -n "${CONFIG:-}" ]; then
    features+=,config
    targets+=(config)
fi
if [ -n "${ASAN:-}" ]; then
    export RUSTC_BOOTSTRAP=1
    flags+=" -Zsanitizer=address"
fi
[ $# -eq 0 ] || targets=("$@")

# With --target the flags are not those of build scripts, which are not fuzzed.
built=${CARGO_TARGET_DIR:-target}
RUSTFLAGS="$flags" cargo build --quiet --release --target "$host" --features "$features" \
    --target-dir "$built" $(printf -- '--bin %s ' "${targets[@]}")
mkdir -p artifacts
for target in "${targets[@]}"; do
    mkdir -p "corpus/$target"
    echo "fuzz: $target, ${FUZZ_SECONDS:-20} s"
    "$built/$host/release/$target" -max_total_time="${FUZZ_SECONDS:-20}" -max_len=4096 -timeout=10 \
        -artifact_prefix="artifacts/$target-" -print_final_stats=1 "corpus/$target" "seeds/$target" \
        2>"artifacts/$target.log" || { tail -40 "artifacts/$target.log"; exit 1; }
    grep -E 'stat::number_of_executed_units|DONE' "artifacts/$target.log" || true
done
