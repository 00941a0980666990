#!/bin/bash
# Runs each fuzz target of build/fuzz for a while, from its seed corpus on, as many at a time as there are
# cores. What they find new is kept in build/fuzz/corpus, what makes one fail in build/fuzz/crashes.
#
#   scripts/fuzz.sh [SECONDS [TARGET[=SECONDS]...]]     10 seconds a target, all targets
#   scripts/fuzz.sh 5 pickle=60 all                     'all' is every target that isn't named before it
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-10}
shift || true
[ $# -gt 0 ] || set -- all
mkdir -p build/fuzz/crashes

# Fuzzes target $1 for $2 seconds and prints one line, or how its log ends.
fuzz() {
  local program=build/fuzz/tests/$1_fuzz found=build/fuzz/corpus/$1 log=build/fuzz/$1.log
  if [ ! -x "$program" ]; then
    echo "fuzz.sh: $program is not built: cmake --preset fuzz && cmake --build --preset fuzz" >&2
    return 1
  fi
  mkdir -p "$found"
  # 25 s for one input is a hang; 2 GiB is what no input of a few KiB may ask for.
  if "$program" -max_total_time="$2" -timeout=25 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="build/fuzz/crashes/$1-" "$found" "tests/fuzz/corpus/$1" > "$log" 2>&1; then
    echo "$1: $2 s, $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, none failed"
  else
    printf '%s\n' "$1: FAILED, $log ends:" "$(tail -n 40 "$log")"
    return 1
  fi
}

order=()
declare -A lasts=()  # target -> seconds
add() {
  [ -n "${lasts[$1]:-}" ] || order+=("$1")
  lasts[$1]=${lasts[$1]:-$2}
}
for word in "$@"; do
  time=$seconds
  [[ $word != *=* ]] || time=${word#*=}
  if [ "${word%%=*}" = all ]; then
    for program in build/fuzz/tests/*_fuzz; do
      add "$(basename "$program" _fuzz)" "$time"
    done
  else
    add "${word%%=*}" "$time"
  fi
done

export -f fuzz
summary=build/fuzz/summary
for target in "${order[@]}"; do
  echo "$target ${lasts[$target]}"
done | xargs -P "$(nproc)" -L 1 bash -c 'fuzz "$@"' fuzz | tee "$summary" || true
passed=$(grep -c ', none failed$' "$summary" || true)
echo "$passed passed, $((${#order[@]} - passed)) failed"
[ "$passed" -eq "${#order[@]}" ]
