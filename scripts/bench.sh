#!/bin/bash
# Measures npyfs against the bytes read natively, Python's zipfile and np.load, and the peers that the
# distribution and PyPI have; says which floors are met. The tables are kept in build/bench/results.md.
#
#   scripts/bench.sh [--quick] [--only TEXT] [--rounds N]     about 30 minutes; --quick: under two
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/packages.sh bench
python=$(scripts/venv.sh)
"$python" -m pip install --quiet --disable-pip-version-check -r tests/bench/requirements.txt
mkdir -p build/bench
cmake --preset release > build/bench/build.log
cmake --build --preset release --target npyfs >> build/bench/build.log
exec "$python" tests/bench/mount_bench.py build/release/npyfs "$@"
