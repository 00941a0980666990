"""Fixtures of the integration tests: the program under test, and mounts that leave nothing behind.

NPYFS_BINARY names the program; without it the release or dev build of this tree is taken. A test fails,
and is never skipped, where nothing can be mounted.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

import mounting

LIMIT_SECONDS = 300
HERE = pathlib.Path(__file__).resolve().parent

# Kills the daemons of a test that is over time: a process that faults a page of a mount which doesn't
# answer can't be stopped otherwise, not even by a signal to itself.
WATCHDOG = """
import contextlib, os, pathlib, select, signal, sys
parent, deadline = os.getppid(), None
while True:
    ready, _, _ = select.select([sys.stdin], [], [], deadline)
    if ready:
        line = sys.stdin.readline()
        if not line:
            break
        deadline = float(line) or None
        continue
    for task in pathlib.Path(f"/proc/{parent}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for pid in (task / "children").read_text().split():
                if pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("npyfs"):
                    os.kill(int(pid), signal.SIGKILL)
    deadline = 1
"""


def pytest_configure(config):
    config.addinivalue_line("markers", "plain_build: bounds memory or time, so not for sanitized builds")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LIMIT_SECONDS))


@pytest.fixture(scope="session")
def binary():
    named = os.environ.get("NPYFS_BINARY")
    builds = HERE.parents[1] / "build"
    candidates = [pathlib.Path(named)] if named else [builds / "release/npyfs", builds / "dev/npyfs"]
    for path in candidates:
        if os.access(path, os.X_OK):
            return path.resolve()
    pytest.fail(f"no program to test: none of {', '.join(map(str, candidates))}")


@pytest.fixture(scope="session")
def watchdog():
    with subprocess.Popen([sys.executable, "-c", WATCHDOG], stdin=subprocess.PIPE, text=True) as process:
        yield lambda seconds: print(seconds, file=process.stdin, flush=True)
        process.stdin.close()


@pytest.fixture(autouse=True)
def time_limit(request, watchdog):
    limit = request.node.get_closest_marker("timeout").args[0]
    watchdog(max(5, limit - 10))
    yield
    watchdog(0)


@pytest.fixture
def home():
    """A directory of the test's own that any user may enter."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="npyfs-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def daemons():
    return mounting.Daemons()


@pytest.fixture
def npyfs(binary, daemons, home):
    """The program. Fails the test when a sanitizer had something to say."""
    scratch = home / "scratch"
    scratch.mkdir()
    scratch.chmod(0o777)
    program = mounting.Program(binary, scratch)
    yield program
    program.clear_away(home)
    reports = program.sanitizer_reports()
    assert not reports, reports


@pytest.fixture
def mount(npyfs, daemons, home):
    """mount(source, *options, announced=[regex …]) -> a Mount in a new directory.

    When the test is over it must unmount, its daemon must end with status 0, and nothing may be in its
    log or on stderr that reads like a complaint and wasn't announced.
    """
    made = []

    def make(source, *options, point=None, **more):
        if point is None:
            point = home / f"mnt{len(made)}"
            point.mkdir()
        mounted = mounting.Mount(npyfs, daemons, source, point, options, **more)
        made.append(mounted)
        return mounted

    yield make
    try:
        for mounted in reversed(made):
            mounted.unmount()
            complaints = mounted.unannounced()
            assert not complaints, "unannounced: " + "\n".join(complaints)
    finally:
        for mounted in made:
            mounted.clear_away()


def pythons():
    """Pythons with NumPy to read with: ours, and the distribution's older one where it is installed."""
    older = "/usr/bin/python3"
    has_numpy = subprocess.run([older, "-c", "import numpy"], check=False, capture_output=True).returncode == 0
    return [sys.executable, older] if has_numpy else [sys.executable]


@pytest.fixture(params=pythons())
def python(request):
    """Runs code in a Python of its own, with arguments, and returns what it printed."""

    def run(code, *arguments, **options):
        done = subprocess.run([request.param, "-c", code, *map(str, arguments)], capture_output=True, text=True,
                              check=False, timeout=250, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
