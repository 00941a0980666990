#!/bin/sh
# Makes build/venv with tests/requirements.txt in it, or leaves it as it is when it is up to date.
# Prints the path of its Python. Another Python than the first python3 of PATH: PYTHON=/usr/bin/python3.13
set -eu
cd "$(dirname "$0")/.."

venv=$PWD/build/venv
stamp=$venv/requirements.txt

usable() {
  "$1" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

if [ -x "$venv/bin/python3" ] && cmp -s tests/requirements.txt "$stamp"; then
  echo "$venv/bin/python3"
  exit 0
fi

for python in ${PYTHON:-} python3 /usr/bin/python3 python3.13 python3.12 python3.11 none; do
  if usable "$python"; then
    break
  fi
done
if [ "$python" = none ]; then
  echo "venv.sh: needs Python 3.11, 3.12 or 3.13 with its venv module; name one in PYTHON" >&2
  exit 1
fi

rm -rf "$venv"
"$python" -m venv "$venv"
"$venv/bin/python3" -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt >&2
cp tests/requirements.txt "$stamp"
echo "$venv/bin/python3"
