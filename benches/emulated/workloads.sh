# What the emulated PMU is measured with: sourced in an empty directory, with
# `here` the directory of the scripts. `command_of NAME` sets `command`.
# shellcheck shell=bash
sources=$here/../tests/programs/emulated
gcc -O2 -o chase "$sources/chase.c"
gcc -O2 -o matrix "$sources/matrix.c"
gcc -O2 -o product "$here/emulated/product.c"
gcc -O2 -pthread -o shared "$here/emulated/shared.c"
# Those of languages that are not installed here are told, and left out.
! command -v javac > /dev/null || javac -d . "$here/emulated/Sorted.java"
! command -v go > /dev/null || GOCACHE=$PWD/go-cache GO111MODULE=off go build -o goroutines "$here/emulated/goroutines.go"
python3 "$here/emulated/generate.py" 3 > small.c
python3 "$here/emulated/generate.py" 84 > large.c
python=$(python3 -c 'import sys; print(sys.executable)') # not a script that starts it
cc1=("$(gcc -print-prog-name=cc1)" -quiet -imultiarch "$(gcc -print-multiarch)" -O1)
command_of() {
    case $1 in
        chase) command=(./chase) ;;
        row) command=(./matrix row) ;;
        col) command=(./matrix col) ;;
        product) command=(./product 300) ;;
        shared*) command=(./shared "${1#shared}" 6000000) ;;
        node) command=(node "$here/emulated/jit.js") ;;
        java) command=(java -cp . Sorted) ;;
        go) command=(./goroutines) ;;
        ls) command=(ls -lR /usr/share/doc) ;;
        py) command=("$python" -c 'sum(range(10**6))') ;;
        pyb) command=("$python" "$here/emulated/work.py") ;;
        cc1) command=("${cc1[@]}" small.c -o small.s) ;;
        cc1b) command=("${cc1[@]}" large.c -o large.s) ;;
        *) echo "$0: no workload $1" >&2; exit 2 ;;
    esac
    command -v "${command[0]}" > /dev/null
}
