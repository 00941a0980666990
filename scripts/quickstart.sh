#!/bin/bash
# From a clone to a mount: installs what is missing, builds build/release/npyfs and mounts.
#
#   scripts/quickstart.sh                      a small sample archive, and a look at what a mount shows
#   scripts/quickstart.sh SOURCE MOUNTPOINT    your own file or directory
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

if [ $# -ne 0 ] && [ $# -ne 2 ]; then
  echo "usage: scripts/quickstart.sh [SOURCE MOUNTPOINT]" >&2
  exit 2
fi
if [ $# -eq 2 ] && [ ! -e "$1" ]; then
  echo "quickstart: $1: no such file or directory" >&2
  exit 1
fi

echo "1/3  packages"
"$here/scripts/packages.sh" build

echo "2/3  building (a few minutes the first time)"
npyfs=$here/build/release/npyfs
mkdir -p "$here/build"
log=$here/build/quickstart.log
if ! (cd "$here" && cmake --preset release && cmake --build --preset release --target npyfs) > "$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "quickstart: the build failed; all of it is in $log" >&2
  exit 1
fi

# A path as it may be pasted into a shell.
quoted() {
  printf '%q' "$1"
}

if [ $# -eq 2 ]; then
  source=$1
  mountpoint=$2
else
  home=$(mktemp -d "${XDG_RUNTIME_DIR:-/tmp}/npyfs-XXXXXX")
  source=$home/sample.npz
  mountpoint=$home/mnt
  python3 "$here/scripts/make_sample.py" "$source"
fi

echo "3/3  $(quoted "$npyfs") mount $(quoted "$source") $(quoted "$mountpoint")"
if [ ! -e /dev/fuse ]; then
  cat >&2 <<END
quickstart: there is no /dev/fuse here. In a container, start it with
    --device /dev/fuse --cap-add SYS_ADMIN
elsewhere: modprobe fuse. Without FUSE the arrays can be listed and copied out:
    $(quoted "$npyfs") ls -l $(quoted "$source")
    $(quoted "$npyfs") extract $(quoted "$source") some/directory
END
  exit 1
fi
if ! "$npyfs" mount "$source" "$mountpoint"; then
  echo "quickstart: without a mount, copy the arrays out: $(quoted "$npyfs") extract $(quoted "$source") some/directory" >&2
  exit 1
fi

# Shows a command, then what it prints.
show() {
  echo
  echo "\$ $1"
  (cd "$mountpoint" && bash -c "$1")
}

if [ $# -eq 0 ]; then
  echo
  echo "\$ cd $(quoted "$mountpoint")"
  show "ls -l"
  show "cat w_fp8.meta.json"
  # Row 100 of (1000, 64) float32: 256 bytes a row.
  show "dd if=token_embedding.raw bs=256 skip=100 count=1 status=none | od -A d -t f4 -w32 | head -n 3"
fi
echo
echo "mounted on $(quoted "$mountpoint"); unmount with"
echo "    $(quoted "$npyfs") umount $(quoted "$mountpoint")"
