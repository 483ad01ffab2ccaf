"""The probe inside real jobs, without `watch`: the contents of the pages, and that the job is not affected."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from ddpdoctor.collect.page import decode_page, read_file
from ddpdoctor.model.collectives import Call, Kind
from ddpdoctor.model.progress import EndKind, EventKind, Page, Raised
from ddpdoctor.model.ranks import Rank
from ddpdoctor.probe import worker_exits

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "ddpdoctor" / "probe" / "plugin"
PROBED = Path(__file__).parent / "probed"
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node")
PLAIN = {**os.environ, "OMP_NUM_THREADS": "1"}
#: seconds after which a job will not come to the point that a test waits for: many times what a busy machine needs
PATIENCE = 900.0


@pytest.fixture
def run() -> Iterator[Path]:
    """A run directory with a short path, as a unix socket in it needs."""
    with tempfile.TemporaryDirectory(prefix="ddp-") as folder:
        yield Path(folder)


def armed(run: Path, **more: str) -> dict[str, str]:
    watch = {"_DDPDOCTOR_RUN": str(run), "_DDPDOCTOR_WATCH_PID": str(os.getpid()), "PYTHONPATH": str(PLUGIN)}
    return {**PLAIN, **watch, **more}


def torchrun(program: str, ranks: int, *options: str) -> list[str]:
    return [*TORCHRUN, str(ranks), *options, str(PROBED / program)]


@contextmanager
def job(command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A job that is gone, with all its processes, when the block is left."""
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        yield process
    finally:
        family: list[psutil.Process] = []
        with suppress(psutil.NoSuchProcess):
            launcher = psutil.Process(process.pid)
            family = [launcher, *launcher.children(recursive=True)]
        for member in family:
            with suppress(psutil.NoSuchProcess):
                member.kill()
        process.communicate()


def pages(run: Path) -> dict[int, Page]:
    found = (decode_page(read_file(path)) for path in run.glob("*.page"))
    return {page.rank: page for page in found}


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "the job did not come to the point"
        time.sleep(0.05)


def line(program: str, text: str) -> int:
    """The number of the one line of a program that holds `text`."""
    (number,) = (n for n, code in enumerate((PROBED / program).read_text().splitlines(), 1) if text in code)
    return number


def only_call(page: Page) -> Call:
    (call,) = page.calls
    return call


def exits(run: Path) -> dict[int, int]:
    records = [json.loads(text) for text in (run / "exits").read_text().splitlines()]
    return {record["pid"]: record["status"] for record in records}


def masked(text: str) -> list[str]:
    """Ports and pids differ."""
    return re.sub(r"\d{3,}", "N", text).splitlines()


def written(logs: Path) -> dict[str, list[str]]:
    """What each rank wrote to each of its streams. In a pipe that they share, lines of two ranks tear each other."""
    return {f"{log.parent.name}/{log.name}": masked(log.read_text()) for log in logs.glob("*/attempt_0/*/std*.log")}


def test_a_job_is_the_same_with_the_probe_and_its_pages_tell_it(run: Path, tmp_path: Path) -> None:
    said = {}
    for name, environment in (("alone", PLAIN), ("probed", armed(run))):
        command = torchrun("everything.py", 2, "--redirects", "3", "--log-dir", str(tmp_path / name))
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        said[name] = written(tmp_path / name)
        assert done.returncode == 0, (done.stderr, said[name])
        said[name]["launcher"] = masked(done.stdout + done.stderr)
    assert set(said["alone"]) == {"0/stdout.log", "0/stderr.log", "1/stdout.log", "1/stderr.log", "launcher"}
    assert any(said["alone"].values())
    assert said["probed"] == said["alone"]

    both = pages(run)
    assert set(both) == {0, 1}
    assert exits(run) == {page.pid: 0 for page in both.values()}
    assert sorted(path.suffix for path in run.iterdir()) == ["", *[".fatal"] * 2, *[".page"] * 2, *[".sock"] * 2]
    for page in both.values():
        assert_counted(page)
        assert page.ending is not None
        assert page.ending.kind is EndKind.NORMAL
        assert not page.calls
        assert not page.pending
        assert page.events_lost == 0
        assert (page.world_size, page.backend, page.group_timeout) == (2, "gloo", 1800.0)
    assert_spoken(both)


def assert_counted(page: Page) -> None:
    counters = page.counters
    loaders = {loader.site.line: (loader.delivered, loader.stops) for loader in counters.loaders}
    assert loaders == {line("everything.py", "# loader"): (6, 1), line("everything.py", "# validation"): (1, 0)}
    # five of DDP, two of FSDP2, one of DDP around a module that warns; three of them have their own backward kind
    assert (counters.forwards, counters.forwards_no_sync) == (8, 1)
    assert (counters.backward_entered, counters.backward_left) == (9, 9)
    assert counters.optimizer_steps == 5
    # the first before any reducer was prepared, then those of DDP, of FSDP2 and of a model without either
    backwards = [event.reduces for event in page.events if event.kind is EventKind.BACKWARD]
    assert backwards == [None, *[True] * 5, *[False] * 3]


def assert_spoken(both: dict[int, Page]) -> None:
    calls = {rank: [event.call for event in page.events if event.call] for rank, page in both.items()}

    def find(rank: int, op: str) -> list[Call]:
        return [call for call in calls[rank] if call.op == op]

    (broadcast,) = find(0, "broadcast")[:1]
    assert (broadcast.kind, broadcast.root, broadcast.numel, broadcast.dtype) == (Kind.FROM_ROOT, 1, 3, "float32")
    assert broadcast.site is not None
    assert (broadcast.site.line, broadcast.site.function) == (line("everything.py", "# broadcast"), "talk")
    (send,) = find(0, "send")
    assert (send.kind, send.peer, send.tag, send.asynchronous) == (Kind.SEND, 1, 5, False)
    assert [(call.peer, call.asynchronous) for call in find(0, "isend")] == [(1, True), (1, True)]
    # irecv from any source, then one from rank 0 in a batch
    assert [(call.peer, call.tag) for call in find(1, "irecv")] == [(None, 0), (0, 0)]
    pair = next(call for call in find(0, "all_reduce") if call.numel == 10)
    assert [call.group for call in find(0, "monitored_barrier")] == [pair.group]
    assert pair.asynchronous
    assert pair.group is not None
    assert pair.group.members == (0, 1)
    assert pair.group.name != "0"
    assert len(find(0, "all_gather_object")) == 1
    assert not any(call.op == "all_gather" for call in calls[0]), "c10d's own calls inside its calls are left out"
    assert len(find(0, "new_group")) == 2
    functional = next(call for call in find(0, "all_reduce") if call.numel == 6)
    assert functional.asynchronous
    assert functional.site is not None
    assert functional.site.line == line("everything.py", "# functional")
    full = [call for call in find(0, "all_gather_into_tensor") if call.numel == 8]
    assert [call.site.line for call in full if call.site] == [line("everything.py", "# full tensor")]
    alone = [call for call in find(1, "barrier") if call.group and call.group.members == (Rank(1),)]
    assert len(alone) == 1
    assert len(find(0, "barrier")) == len(find(1, "barrier")) - 1


def test_ranks_that_hang_are_read_from_outside(run: Path) -> None:
    begun = time.monotonic()
    with job(torchrun("stuck.py", 3), armed(run)):
        # rank 2 holds the GIL: its heart stops. The two others' hearts beat on.
        wait_for(lambda: len(pages(run)) == 3 and pages(run)[0].heartbeat > pages(run)[2].heartbeat + 2.5)
        stuck = pages(run)
        call = only_call(stuck[0])
        assert (call.kind, call.op, call.numel, call.asynchronous) == (Kind.WAIT, "all_reduce", 7, False)
        assert call.group is not None
        assert call.group.members == (0, 1, 2)
        assert call.site is not None
        assert call.site.line == line("stuck.py", "# rank 0 waits here")
        barrier = only_call(stuck[1])
        assert barrier.op == "barrier"
        assert barrier.site is not None
        assert barrier.site.line == line("stuck.py", "# rank 1 waits here")
        (pending,) = stuck[1].pending
        assert (pending.type, pending.message) == ("ValueError", "hidden by a finally")
        assert begun < pending.time < time.monotonic()
        assert [site.function for site in pending.frames] == ["fail", "rank_1"]
        assert not stuck[0].pending
        assert not stuck[2].pending
        assert stuck[2].calls == ()
        assert all(len(page.communicating_threads) == 1 for page in stuck.values())

        os.kill(stuck[0].pid, signal.SIGSTOP)
        time.sleep(1.5)
        stopped = pages(run)[0]
        assert only_call(stopped) == call
        assert time.monotonic() - stopped.heartbeat > 1.0
        os.kill(stuck[2].pid, signal.SIGKILL)
        wait_for(lambda: (run / "exits").exists())
        assert exits(run)[stuck[2].pid] == -signal.SIGKILL
        dead = pages(run)[2]
        assert [event.call.op for event in dead.events if event.call] == ["init_process_group", "all_reduce"]


def test_an_exception_is_timed_when_raised_and_survivors_wait_for_a_look(run: Path) -> None:
    with job(torchrun("dies.py", 2), armed(run)) as process:
        wait_for(lambda: (run / "exits").exists())
        dead, survivor = pages(run)[1], pages(run)[0]
        assert exits(run) == {dead.pid: 1}
        ending = dead.ending
        assert ending is not None
        assert ending.raised is not None
        assert_raised(ending.raised)
        assert dead.calls == ()
        process.wait(timeout=PATIENCE)
        assert process.returncode == 1
        assert exits(run)[survivor.pid] == -signal.SIGTERM
        # The launcher held its signal back, for somebody might have looked.
        first, second = (json.loads(text)["time"] for text in (run / "exits").read_text().splitlines())
        assert second - first >= worker_exits.GRACE


def assert_raised(raised: Raised) -> None:
    assert (raised.type, raised.message) == ("KeyError", "'the reason'")
    assert raised.frames[0].line == line("dies.py", "# raised here")
    assert "KeyError: 'the reason'" in raised.traceback
    assert "ddpdoctor/probe/" not in raised.traceback


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_ranks_made_by_multiprocessing(run: Path, tmp_path: Path, method: str) -> None:
    command = [sys.executable, str(PROBED / "spawned.py"), method]
    environment = armed(run, STORE=str(tmp_path / "store"))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    both = pages(run)
    assert set(both) == {0, 1}, "the parent and the data workers have no page"
    assert exits(run) == {page.pid: 0 for page in both.values()}
    for page in both.values():
        assert (page.counters.delivered, page.counters.stops) == (2, 1)
        assert [event.call.op for event in page.events if event.call] == ["init_process_group", *["all_reduce"] * 2]
        assert page.ending is not None
        assert page.ending.kind is EndKind.NORMAL


def test_an_exception_in_a_spawned_rank(run: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(PROBED / "spawned.py"), "spawn", "fail"]
    environment = armed(run, STORE=str(tmp_path / "store"), _DDPDOCTOR_WATCH_PID="")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert "in a child" in done.stderr
    assert "ddpdoctor/probe/" not in done.stderr
    ending = pages(run)[1].ending
    assert ending is not None
    assert ending.kind is EndKind.EXCEPTION
    assert ending.raised is not None
    assert ending.raised.type == "ZeroDivisionError"
    assert ending.raised.frames[0].line == line("spawned.py", "raise ZeroDivisionError")
    assert exits(run)[pages(run)[1].pid] == 1


@pytest.mark.parametrize("blind", ["unwritable", "missing", "off"])
def test_without_a_run_directory_the_job_runs_as_alone(run: Path, tmp_path: Path, blind: str) -> None:
    environment = armed(run, STORE=str(tmp_path / "store"))
    if blind == "missing":
        environment["_DDPDOCTOR_RUN"] = str(run / "none")
    elif blind == "off":
        environment["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    else:
        # Root may write everywhere: a run "directory" that is a file stops it too.
        (run / "file").touch()
        environment["_DDPDOCTOR_RUN"] = str(run / "file")
    command = [sys.executable, str(PROBED / "spawned.py"), "fork"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 0]\n", "")
    assert not list(run.glob("*.page"))


def test_events_of_a_thread_carry_its_own_id(run: Path) -> None:
    command = [sys.executable, str(PROBED / "threads.py")]
    environment = armed(run, MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    page = pages(run)[0]
    main = page.pid
    by_thread = {event.thread for event in page.events if event.kind is EventKind.CALL}
    assert main in by_thread
    assert len(by_thread) == 2
