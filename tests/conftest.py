"""What all tests share."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile

import pytest
from hypothesis import HealthCheck, settings

# Where it is set, `print` writes a line and its end apart, and the lines of ranks that share a pipe run into each
# other. Tests that compare what jobs print need whole lines.
os.environ.pop("PYTHONUNBUFFERED", None)

# Where it is set, each of the thousand processes that the tests start compiles the sources of ddpdoctor anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Tests, and the programs that they start, leave the cache of the user who runs them alone, and none sees another's.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="ddpdoctor-tests-")
atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)

# A test run in the background (`make test &` in a script) is started with the first two ignored, one under nohup(1)
# with the last, and so would be every job of the tests that signals one. A handler is not inherited, so a test run
# under nohup outlives its terminal as before.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else lambda *_: None)

# Generated examples take longer beside other work: neither their time nor that of a test says anything about the code.
# They are others on each run, and `make test-slow` makes forty times as many.
for _profile, _examples in (("daily", 25), ("thorough", 1000)):
    settings.register_profile(
        _profile, max_examples=_examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile("daily")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--require-frameworks`, for `make test-frameworks`; `--part`, for `make test-part`."""
    told = "a case whose packages are not installed fails instead of being skipped"
    parser.addoption("--require-frameworks", action="store_true", help=told)
    told = "K/N: of the tests that were chosen only every N-th, from the K-th on (K modulo N)"
    parser.addoption("--part", metavar="K/N", type=_part, help=told)


def _part(text: str) -> tuple[int, int]:
    number, _, parts = text.partition("/")
    return int(number) % int(parts), int(parts)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the tests of the part that was asked for, after all other choices."""
    if part := config.getoption("--part"):
        number, parts = part
        left_out = [item for place, item in enumerate(items) if place % parts != number]
        items[:] = items[number::parts]
        config.hook.pytest_deselected(items=left_out)
    if hasattr(config, "workerinput"):
        items[:] = _spread(items)


#: tests of one file that stay together where jobs are spread: some files share a job between theirs
_TOGETHER = 4


def _spread(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests with jobs evenly between the others: jobs wait most of their time, and the others compute.

    Each worker of pytest-xdist begins with a stretch of the list, so that all jobs would be in the stretch of one, and
    be left for the end, when nothing else is there to be done while they wait.
    """
    jobs = [item for item in items if item.get_closest_marker("e2e")]
    rest = [item for item in items if not item.get_closest_marker("e2e")]
    bunches: list[list[pytest.Item]] = []
    for job in jobs:
        if bunches and len(bunches[-1]) < _TOGETHER and bunches[-1][0].path == job.path:
            bunches[-1].append(job)
        else:
            bunches.append([job])
    spread: list[pytest.Item] = []
    done = 0
    for number, bunch in enumerate(bunches):
        until = len(rest) * number // len(bunches)
        spread += [*rest[done:until], *bunch]
        done = until
    return [*spread, *rest[done:]]
