#!/bin/bash
# Builds npyfs in a Debian 13 root and runs its unit, fuzz corpus and mount tests there: libfuse 3.17 has
# what Debian 12's lacks, kernel passthrough above all. The root is kept in build/debian13 for the next time.
#
#   scripts/test-debian13.sh     as root, about 2 GB; DEBIAN_MIRROR names another mirror
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ]; then
  echo "test-debian13.sh: must be root, for chroot" >&2
  exit 1
fi
scripts/packages.sh debian13

export root=$PWD/build/debian13 ccache=${CCACHE_DIR:-$HOME/.cache/ccache}
if [ ! -f "$root/etc/debian_version" ]; then
  rm -rf "$root.new"
  mkdir -p "$root.new"
  debootstrap --variant=minbase --include=ca-certificates trixie "$root.new" \
    "${DEBIAN_MIRROR:-http://deb.debian.org/debian}"
  mv "$root.new" "$root"
fi

# The system's name servers, certificates and pip settings: what reaches the packages here does so in there.
cp -L /etc/resolv.conf "$root/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
if [ -f /etc/pip.conf ]; then
  cp /etc/pip.conf "$root/etc/"
fi
ln -sf /proc/self/mounts "$root/etc/mtab"  # fusermount3 looks into it
# A file that differs gets the time of now, or what was compiled while it changed here would look up to date.
rsync -a --no-times --checksum --delete --exclude /build --exclude /.git ./ "$root/npyfs/"

# In a mount namespace of its own, so that no mount is left behind, whatever happens.
inside() {
  set -euo pipefail
  mount --make-rprivate /
  mount --bind "$root" "$root"  # tests change the propagation of /, which must be a mount for that
  mount --rbind /dev "$root/dev"
  mount -t proc proc "$root/proc"
  mount -t sysfs sysfs "$root/sys"
  mount -t tmpfs tmpfs "$root/tmp"
  mkdir -p "$ccache" "$root/root/.cache/ccache"
  mount --bind "$ccache" "$root/root/.cache/ccache"
  # The commands are for the shell in there.
  # shellcheck disable=SC2016
  chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 bash -euc '
    cd /npyfs
    scripts/packages.sh test
    scripts/venv.sh
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_SLOPPINESS=pch_defines,time_macros
    cmake --preset dev -D NPYFS_WERROR=OFF
    cmake --build --preset dev
    ctest --preset dev -j "$(nproc)" -L "unit|fuzz|integration"
  ' < /dev/null
}
export -f inside
unshare --mount bash -c inside
