#!/usr/bin/env bash
# machine.sh: where and when the numbers below were measured.
set -euo pipefail
date -u '+%Y-%m-%d %H:%M UTC'
echo "$(awk -F': *' '/^model name/ { print $2; exit }' /proc/cpuinfo), $(nproc) CPUs, Linux $(uname -r)"
echo "load $(cut -d' ' -f1-3 /proc/loadavg); $(perf --version 2> /dev/null || echo 'no perf')"
