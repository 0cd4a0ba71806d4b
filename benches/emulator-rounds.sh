#!/usr/bin/env bash
# emulator-rounds.sh [ROUNDS [PROGRAM...]]: do threaded programs do each time
# under the emulated PMU what they do natively?
#
# Runs a queue under a mutex, a reader-writer lock, OpenMP, rayon, Go and a JVM
# once natively and ROUNDS times (50) emulated, each with another seed, and
# compares output and exit status. Prints how many were equal; exits 1 when one
# was not. A program whose language is not installed is named.
#
# EBS names another ebs than the one in target/release.
# LIMIT: seconds for one run (300).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../target}
ebs=$(realpath "${EBS:-$target/release/ebs}")
[ -x "$ebs" ] || { echo "$0: no $ebs: cargo build --release" >&2; exit 1; }
rounds=${1:-50}
shift || true
programs=("$@")
[ ${#programs[@]} -gt 0 ] || programs=(queue rwlock openmp rayon go java)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo_home=${CARGO_HOME:-$HOME/.cargo}
cd "$work" || exit 1

command_of() {
    case $1 in
        queue | rwlock) gcc -O2 -pthread -o locks "$here/emulated/locks.c" && command=(./locks "$1") ;;
        openmp) gcc -O2 -fopenmp -o team "$here/emulated/team.c" && command=(./team) ;;
        rayon) cp -r "$here/emulated/parallel" . \
            && CARGO_HOME=$cargo_home CARGO_TARGET_DIR=$work/target \
                cargo build --quiet --release --manifest-path parallel/Cargo.toml && command=(target/release/parallel) ;;
        go) GOCACHE=$work/cache GO111MODULE=off go build -o goroutines "$here/emulated/goroutines.go" && command=(./goroutines) ;;
        java) javac -d . "$here/emulated/Sorted.java" && command=(java -cp . Sorted) ;;
        *) echo "$0: no program $1" >&2; exit 2 ;;
    esac
}
"$here/machine.sh"
differing=0
for program in "${programs[@]}"; do
    command_of "$program" || { echo "$program: cannot be built here: left out"; continue; }
    native=$("${command[@]}" < /dev/null; echo "status $?")
    equal=0
    for seed in $(seq "$rounds"); do
        emulated=$(timeout "${LIMIT:-300}" "$ebs" --source emulated -u -t l1_cache_miss --seed "$seed" -c all \
            -o /dev/null -- "${command[@]}" < /dev/null 2> told; echo "status $?")
        if [ "$emulated" = "$native" ]; then
            equal=$((equal + 1))
        else
            echo "$program, --seed $seed: ${emulated:0:200}, natively ${native:0:200}"
            tail -2 told
        fi
    done
    echo "$program: $equal of $rounds equal"
    [ "$equal" = "$rounds" ] || differing=1
done
exit "$differing"
