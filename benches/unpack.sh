#!/usr/bin/env bash
# unpack.sh PACKAGE DIRECTORY: unpacks the source of a Debian package into
# DIRECTORY/source and configures it. Downloads are kept in
# ${XDG_CACHE_HOME:-~/.cache}/hardmeter.
#
# The system's own apt configuration stays as it is: lists of source packages
# are fetched into the cache, from the mirror that apt has packages from, with
# the keys that apt trusts.
set -euo pipefail
if [ $# -ne 2 ]; then
    echo "usage: $0 PACKAGE DIRECTORY" >&2
    exit 2
fi
package=$1
directory=$2
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hardmeter
for tool in apt-get dpkg-source make gcc; do
    command -v "$tool" > /dev/null || { echo "$0: needs $tool" >&2; exit 1; }
done
mkdir -p "$cache/packages" "$directory"

if ! ls "$cache/packages/${package}_"*.dsc > /dev/null 2>&1; then
    mkdir -p "$cache/apt/lists/partial" "$cache/apt/archives/partial"
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:?no VERSION_CODENAME}")
    mirror=$(apt-get --print-uris update \
        | sed -n "s,^'\(.*\)/dists/$codename/InRelease'.*,\1,p" | head -n 1)
    [ -n "$mirror" ] || { echo "$0: apt has no mirror of $codename" >&2; exit 1; }
    echo "deb-src [signed-by=$keys] $mirror $codename main" > "$cache/apt/sources.list"
    options=(
        -o "Dir::Etc::SourceList=$cache/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$cache/apt/lists" -o "Dir::Cache=$cache/apt"
        -o APT::Sandbox::User="$(id -un)"
    )
    apt-get -q "${options[@]}" update >&2
    (cd "$cache/packages" && apt-get -q "${options[@]}" source --download-only "$package" >&2)
fi
rm -rf "$directory/source"
dpkg-source -q -x "$cache/packages/${package}_"*.dsc "$directory/source" >&2
cd "$directory/source"
if [ -x configure ]; then
    ./configure > configure.log 2>&1 || { tail -20 configure.log >&2; exit 1; }
fi
