#!/usr/bin/env bash
# benches/daemon-rate.sh [RATE]: CPU and memory of ebsd with RATE (100,000)
# page faults a second to four clients of one session, of `perf record` for
# the same storm, and of a daemon without work. As root.
set -euo pipefail
cd "$(dirname "$0")/.."
. benches/machine.sh
cargo build --quiet --release --package daemon --package ebs-cli --bins
export HARDMETER_RATE=${1:-100000} HARDMETER_BIN=${CARGO_TARGET_DIR:-$PWD/target}/release
cargo nextest run --cargo-quiet --no-capture --package tests --test e2e daemon::rate 2>&1 |
    grep -E '^(idle|perf record|[0-9]+ a second)|SAMPLE|LOST'
