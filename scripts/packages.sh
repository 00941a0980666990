#!/bin/sh
# The one list of packages, and their installation: Debian 12 and 13, Ubuntu 24.04.
#
#   scripts/packages.sh build    what building and mounting need
#   scripts/packages.sh test     the same, and what scripts/test.sh needs
#   scripts/packages.sh bench    the same, and the programs npyfs is measured against
#   scripts/packages.sh debian13 what scripts/test-debian13.sh makes a Debian 13 root with
#   scripts/packages.sh --list SET
#
# Says nothing and needs no network when everything is there. As another user than root it asks sudo.
set -eu

build_set="g++ cmake ninja-build pkgconf python3 fuse3
  libfuse3-dev libzip-dev zlib1g-dev libisal-dev libssl-dev
  nlohmann-json3-dev libspdlog-dev libfmt-dev libcli11-dev
  libgtest-dev libgmock-dev libbenchmark-dev"
test_set="clang clang-tidy libclang-rt-dev python3-venv python3-numpy mandoc shellcheck
  ccache util-linux rsync less xxd tar"
# Peers that the distribution may lack: what is missing is left out, and the benchmark says so.
bench_set="fuse-zip archivemount mount-zip"

wanted() {
  case $1 in
    build) echo "$build_set" ;;
    test)  echo "$build_set $test_set" ;;
    bench) echo "$build_set $test_set" ;;
    debian13) echo "debootstrap rsync util-linux" ;;
    *) echo "usage: packages.sh [--list] build|test|bench|debian13" >&2; exit 2 ;;
  esac
}

# The names of those arguments that are not installed.
missing() {
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
  done
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "packages.sh: not root, and there is no sudo; as root: apt-get install $needed" >&2
    exit 1
  fi
}

install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0 install --no-install-recommends "$@"
}

if [ "${1:-}" = --list ]; then
  # Unquoted: the lists are split into one name a line.
  # shellcheck disable=SC2046
  printf '%s\n' $(wanted "${2:-test}")
  exit 0
fi

set_name=${1:-build}
# shellcheck disable=SC2046
set -- $(wanted "$set_name")
if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "packages.sh: no apt-get here; make sure of your distribution's packages for: $*" >&2
  exit 0
fi

needed=$(missing "$@" | tr '\n' ' ')
if [ "$set_name" = bench ]; then
  # shellcheck disable=SC2086
  for package in $(missing $bench_set); do
    if apt-cache show "$package" >/dev/null 2>&1; then
      needed="$needed $package"
    fi
  done
fi
[ -n "$needed" ] || exit 0

echo "packages.sh: installing $needed" >&2
if ! ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1; then
  as_root apt-get -qq update
fi
# Lists that are too old name files that are gone: fetch new ones and try once more.
# shellcheck disable=SC2086
install $needed >&2 || { as_root apt-get -qq update && install $needed >&2; }
