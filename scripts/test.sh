#!/bin/bash
# Everything that must hold, from a fresh clone on a bare machine: installs what is missing, checks the
# text, builds every preset and runs its tests. Closes with one line, 'N passed, N failed'.
#
#   scripts/test.sh [--scale]     --scale: also a million arrays, members of 20 GiB, and Debian 13
#
# The log of each step is build/test/STEP.log; a step that fails shows the end of its own. A step goes on
# after another has failed, so that one run tells all. A test that was skipped counts as failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

scale=no
case ${1:-} in
  '') ;;
  --scale) scale=yes ;;
  *) echo "usage: scripts/test.sh [--scale]" >&2; exit 2 ;;
esac

passed=0
failed=0
failures=()
logs=build/test
mkdir -p "$logs"

# Runs a step and keeps its output. $1 names it; the rest is the command.
run() {
  local log=$logs/$1.log start=$SECONDS status=0
  printf '%-16s ' "$1"
  shift
  "$@" > "$log" 2>&1 < /dev/null || status=$?
  printf '%4d s  ' $((SECONDS - start))
  return $status
}

count() {
  passed=$((passed + $1))
  failed=$((failed + $2))
}

# The step is one test: it passes or fails whole.
step() {
  if run "$@"; then
    count 1 0
    echo ok
  else
    count 0 1
    failures+=("$1")
    echo "FAILED; $logs/$1.log ends:"
    tail -n 60 "$logs/$1.log"
    return 1
  fi
}

# The number that a JUnit file has for attribute $2.
junit() {
  grep -oE "(^|[[:space:]])$2=\"[0-9]+\"" "$1" | head -n 1 | tr -dc 0-9
}

# The step is many tests: preset $2, the rest are options of ctest.
tests() {
  local name=$1 preset=$2 report=$PWD/$logs/$1.xml total bad
  shift 2
  rm -f "$report"
  run "$name" "${launcher[@]}" ctest --preset "$preset" -j "$(nproc)" --output-junit "$report" "$@"
  if [ ! -s "$report" ]; then
    count 0 1
    failures+=("$name")
    echo "FAILED: no test ran; $logs/$name.log ends:"
    tail -n 20 "$logs/$name.log"
    return
  fi
  total=$(junit "$report" tests)
  bad=$(($(junit "$report" failures) + $(junit "$report" skipped) + $(junit "$report" disabled)))
  count $((total - bad)) "$bad"
  echo "$((total - bad)) passed, $bad failed"
  if [ "$bad" -gt 0 ]; then
    failures+=("$name")
    echo "$logs/$name.log, from its end:"
    tail -n 120 "$logs/$name.log"
  fi
}

configure_and_build() {
  local preset=$1
  shift
  cmake --preset "$preset" && cmake --build --preset "$preset" "$@"
}

# The preset $1; the rest are options of cmake --build.
build() {
  step "build-$1" configure_and_build "$@"
}

# The sample as a newcomer gets it, in a directory of its own, and unmounted again.
quickstart() {
  local home status=0
  home=$(mktemp -d) || return
  XDG_RUNTIME_DIR=$home scripts/quickstart.sh && build/release/npyfs umount "$home"/npyfs-*/mnt || status=$?
  rm -rf "$home"
  return $status
}

# The ThreadSanitizer of older compilers needs fewer random address bits than some kernels give.
launcher=()
tsan_launcher=()
if [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28)" -gt 28 ]; then
  tsan_launcher=(setarch "$(uname -m)" --addr-no-randomize)
fi
step packages scripts/packages.sh test || exit 1
step python scripts/venv.sh || exit 1

# What was compiled before needn't be again, in whatever folder the clone lies.
export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros

build dev && tests dev dev
step clang-tidy scripts/tidy.sh
# The fuzz corpus is replayed under AddressSanitizer in build/fuzz.
build asan --target npyfs unit_tests && tests asan asan -L 'unit|integration'
if build tsan --target npyfs unit_tests; then
  launcher=("${tsan_launcher[@]}")
  tests tsan tsan -L 'unit|threads'
  launcher=()
fi
build fuzz --target fuzz_targets && tests fuzz-corpus fuzz -L fuzz && step fuzz scripts/fuzz.sh 5 pickle=60 all
if build release --target npyfs benchmarks; then
  step install scripts/check_install.sh
  step quickstart quickstart
fi
if [ "$scale" = yes ]; then
  NPYFS_SCALE=1 tests scale release -R '^integration\.scale' --verbose
  step debian13 scripts/test-debian13.sh
fi

echo
echo "${failures[*]:+failed: ${failures[*]}; }$SECONDS s"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
