#!/bin/sh
# The static checks that take seconds; usable as a git hook.
#
#   scripts/check.sh [format] [layers] [shell] [man] [python] [help BINARY]     all but help when none is named
set -eu
cd "$(dirname "$0")/.."

sources() {
  find src include tests -name '*.cc' -o -name '*.h' | sort
}

shell_scripts() {
  find scripts .ci tests -type f \( -name '*.sh' -o -name 'run' -o -path 'scripts/completions/npyfs' \) | sort
}

# Release 14 formats: the one of build/venv, or the distribution's if it is that one.
clang_format() {
  for program in build/venv/bin/clang-format clang-format-14 clang-format; do
    case $("$program" --version 2>/dev/null) in
      *"version 14."*) echo "$program"; return ;;
    esac
  done
  echo "check.sh: no clang-format 14; scripts/venv.sh installs it" >&2
  return 1
}

check_format() {
  program=$(clang_format)
  sources | xargs "$program" --dry-run -Werror
}

check_layers() {
  scripts/check_layers.sh --self-test
  scripts/check_layers.sh
}

check_shell() {
  shell_scripts | xargs shellcheck
}

# Below a warning, mandoc complains of style that groff and man-db accept.
check_man() {
  mandoc -T lint -W warning man/npyfs.1
}

check_python() {
  find scripts tests -name '*.py' | sort | xargs python3 -c '
import sys
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        compile(file.read(), path, "exec")'
}

[ $# -gt 0 ] || set -- format layers shell man python
while [ $# -gt 0 ]; do
  case $1 in
    format | layers | shell | man | python) "check_$1" ;;
    help)
      scripts/check_help.sh "${2:?help needs the program}"
      shift
      ;;
    *) echo "check.sh: no check named $1" >&2; exit 2 ;;
  esac
  shift
done
