#!/bin/bash
# Runs each fuzz target of build/fuzz for a while, from its seed corpus on; what it finds new is kept in
# build/fuzz/corpus, what makes it fail in build/fuzz/crashes.
#
#   scripts/fuzz.sh [SECONDS [TARGET...]]     10 seconds a target, all targets
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-10}
shift || true
[ $# -gt 0 ] || set -- build/fuzz/tests/*_fuzz
failed=0
passed=0
mkdir -p build/fuzz/crashes

for target in "$@"; do
  subject=$(basename "$target" _fuzz)
  program=build/fuzz/tests/${subject}_fuzz
  found=build/fuzz/corpus/$subject
  log=build/fuzz/$subject.log
  if [ ! -x "$program" ]; then
    echo "fuzz.sh: $program is not built: cmake --preset fuzz && cmake --build --preset fuzz" >&2
    exit 1
  fi
  mkdir -p "$found"
  # 25 s for one input is a hang; 2 GiB is what no input of a few KiB may ask for.
  if "$program" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="build/fuzz/crashes/$subject-" "$found" "tests/fuzz/corpus/$subject" > "$log" 2>&1; then
    passed=$((passed + 1))
    echo "$subject: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, none failed"
  else
    failed=$((failed + 1))
    echo "$subject: FAILED, $log ends:"
    tail -n 40 "$log"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
