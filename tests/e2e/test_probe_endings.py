"""How ranks end, or never begin, as recorded in their pages."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from ddpdoctor.collect.page import decode_page, read_file
from ddpdoctor.model.collectives import Kind
from ddpdoctor.model.progress import EndKind, Page

PLUGIN = Path(__file__).parents[2] / "ddpdoctor" / "probe" / "plugin"
PROBED = Path(__file__).parent / "probed"
PATIENCE = 900.0


@pytest.fixture
def run() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ddp-") as folder:
        yield Path(folder)


def armed(run: Path, **more: str) -> dict[str, str]:
    watch = {"_DDPDOCTOR_RUN": str(run), "_DDPDOCTOR_WATCH_PID": str(os.getpid()), "PYTHONPATH": str(PLUGIN)}
    return {**os.environ, "OMP_NUM_THREADS": "1", **watch, **more}


def pages(run: Path) -> dict[int, Page]:
    found = (decode_page(read_file(path)) for path in run.glob("*.page"))
    return {page.rank: page for page in found}


def end(run: Path, way: str, **more: str) -> tuple[Page, subprocess.CompletedProcess[str]]:
    """Run a rank that ends in one way; its status is not looked at: torch itself aborts some exits without destroy."""
    command = [sys.executable, str(PROBED / "ends.py"), way]
    environment = armed(run, RANK="0", WORLD_SIZE="1", **more)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    (page,) = pages(run).values()
    return page, done


@contextlib.contextmanager
def torchrun(run: Path, program: str, ranks: int) -> Iterator[None]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    process = subprocess.Popen(
        [*command, str(PROBED / program)],
        env=armed(run),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        launcher = psutil.Process(process.pid)
        for member in [launcher, *launcher.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        process.wait()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "the job did not come to the point"
        time.sleep(0.05)


def test_a_normal_end(run: Path) -> None:
    page, done = end(run, "normal")
    assert done.returncode == 0
    assert page.ending is not None
    assert (page.ending.kind, page.ending.raised) == (EndKind.NORMAL, None)


@pytest.mark.parametrize("way", ["exit_in_except", "os_exit_in_except", "own_hook", "interrupted"])
def test_the_exception_behind_an_exit_is_kept(run: Path, way: str) -> None:
    page, done = end(run, way)
    assert page.ending is not None
    assert page.ending.kind is EndKind.EXCEPTION
    raised = page.ending.raised
    assert raised is not None
    assert (raised.type, raised.message) == ("OSError", "the reason")
    (line,) = (n for n, text in enumerate((PROBED / "ends.py").read_text().splitlines(), 1) if "# the reason" in text)
    assert (raised.frames[0].line, raised.frames[0].function) == (line, "fail")
    assert ("own hook: the reason" in done.stdout) == (way == "own_hook")


def line_of(mark: str) -> int:
    (line,) = (n for n, text in enumerate((PROBED / "ends.py").read_text().splitlines(), 1) if mark in text)
    return line


def test_an_exit_of_failure_and_its_place_are_kept(run: Path) -> None:
    page, done = end(run, "plain_exit")
    assert "the status" in done.stderr
    assert page.leaving is not None
    assert (page.leaving.type, page.leaving.message) == ("SystemExit", "the status")
    assert page.leaving.frames[0].line == line_of("# the exit")


def test_what_was_raised_before_is_kept_with_what_hides_it(run: Path) -> None:
    page, _ = end(run, "chained")
    assert page.ending is not None
    raised = page.ending.raised
    assert raised is not None
    assert raised.frames[-1].line == line_of("# fails as well")
    (first,) = raised.before
    assert (first.type, first.message) == ("OSError", "the reason")
    assert first.frames[0].line == line_of("# the reason")
    assert first.time <= raised.time


def test_a_fatal_signal_leaves_stacks_in_the_fatal_file_and_none_on_stderr(run: Path) -> None:
    page, done = end(run, "aborted")
    assert done.returncode == -signal.SIGABRT
    assert page.ending is None
    fatal = (run / f"{page.pid}.fatal").read_text()
    assert "Fatal Python error: Aborted" in fatal
    assert "ends.py" in fatal
    assert "Fatal Python error" not in done.stderr


def test_a_failing_child_of_a_rank_is_not_the_rank(run: Path) -> None:
    page, _ = end(run, "child_fails")
    assert page.ending is not None
    assert page.ending.kind is EndKind.NORMAL


@pytest.mark.parametrize(
    ("way", "asked", "expected"),
    [
        ("default_timeout", "99", ["99.0", "99.0", "55.0"]),
        ("explicit_timeout", "99", ["77.0", "99.0", "55.0"]),
        ("default_timeout", "", ["1800.0", "1800.0", "55.0"]),
    ],
)
def test_a_timeout_is_given_only_where_the_job_gives_none(run: Path, way: str, asked: str, expected: list[str]) -> None:
    page, done = end(run, way, _DDPDOCTOR_GROUP_TIMEOUT=asked)
    assert done.stdout.split() == expected
    assert page.group_timeout == float(expected[0])


def test_who_waits_at_the_rendezvous_and_who_failed_before_it(run: Path) -> None:
    with torchrun(run, "at_start.py", 3):
        wait_for(lambda: set(pages(run)) == {0, 2} and pages(run)[2].ending is not None)
        seen = pages(run)
        (call,) = seen[0].calls
        assert (call.kind, call.op) == (Kind.ALL, "init_process_group")
        assert call.group is not None
        assert call.group.members == (0, 1, 2)
        assert seen[0].world_size == 3
        ending = seen[2].ending
        assert ending is not None
        assert ending.raised is not None
        assert ending.raised.type == "LookupError"


def test_the_second_forward_of_ddp_waits_for_the_first_rank(run: Path) -> None:
    def waits() -> bool:
        seen = pages(run)
        return len(seen) == 2 and bool(seen[1].calls) and time.monotonic() - seen[1].moved > 1.0

    with torchrun(run, "rebuild.py", 2):
        wait_for(waits)
        page = pages(run)[1]
        (call,) = page.calls
        assert (call.kind, call.op, call.root) == (Kind.FROM_ROOT, "broadcast", 0)
        assert call.site is not None
        assert call.site.file.endswith("rebuild.py")
        assert page.counters.forwards == 2
