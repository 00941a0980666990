#!/bin/sh
# Fails unless `cmake --install` of build/release puts each file where the system looks for it.
set -eu
cd "$(dirname "$0")/.."
stage=$(mktemp -d)
trap 'rm -r "$stage"' EXIT

DESTDIR=$stage cmake --install build/release --prefix /usr > /dev/null

failed=0
for file in bin/npyfs sbin/mount.fuse.npyfs sbin/mount.npyfs share/man/man1/npyfs.1 \
  share/bash-completion/completions/npyfs share/zsh/site-functions/_npyfs; do
  if [ ! -f "$stage/usr/$file" ]; then
    echo "not installed, or a link to nothing: /usr/$file" >&2
    failed=1
  fi
done
for helper in mount.fuse.npyfs mount.npyfs; do
  if [ "$(readlink "$stage/usr/sbin/$helper")" != ../bin/npyfs ]; then
    echo "/usr/sbin/$helper is no relative link to the program" >&2
    failed=1
  fi
done
"$stage/usr/bin/npyfs" --version
exit $failed
