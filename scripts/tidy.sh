#!/bin/bash
# clang-tidy over src with the flags of build/dev, as many files at once as there are cores.
#
#   scripts/tidy.sh [FILE...]
#
# Release 14 is the one whose findings fail: others know other checks, and theirs are only shown.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ ! -f build/dev/compile_commands.json ]; then
  echo "tidy.sh: no build/dev/compile_commands.json; cmake --preset dev makes it" >&2
  exit 1
fi
program=$(command -v clang-tidy-14 || command -v clang-tidy) || {
  echo "tidy.sh: no clang-tidy; scripts/packages.sh test installs it" >&2
  exit 1
}
options=(-p build/dev --quiet)
if ! "$program" --version | grep -q 'version 14\.'; then
  options+=('--warnings-as-errors=-*')
fi

if [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <(find src -name '*.cc' | sort)
fi
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" "$program" "${options[@]}" 2> >(grep -vE '^[0-9]+ warnings? ' >&2)
echo "${#files[@]} files are clean"
