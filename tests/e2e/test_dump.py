"""`ddpdoctor dump`: real jobs that nobody wrapped, looked at from outside and left as they are."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from ddpdoctor.collect import bundle
from ddpdoctor.launch import host_jobs
from ddpdoctor.repro.runner import started
from tests.e2e.job import STARTUP, torchrun

PROGRAMS = Path(__file__).parent / "programs"
ROOT = Path(__file__).parents[2]
#: what secret_ring.py makes of parts, so that neither its source nor its command line has it
SECRETS = (b"hunter2-hunter2", b"471108150")
#: seconds after its last step in which a job comes to stand
SETTLED = 3.0
#: nobody's user id; without capabilities, as a user of a cluster
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all")


def dump(*arguments: str, prefix: Sequence[str] = (), **environ: str) -> subprocess.CompletedProcess[str]:
    command = [*prefix, sys.executable, "-m", "ddpdoctor", "dump", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environ}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=STARTUP, check=False, env=environment, cwd="/"
    )


def told(result: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert result.returncode in (0, 1), result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    return report


@contextlib.contextmanager
def job(command: list[str], log: Path) -> Iterator[int]:
    """A job without `watch`; gives the pid of its first process when all ranks have met."""
    with started(command, log, {}) as process:
        yield process.pid


def ranks_of(pid: int, number: int) -> tuple[int, ...]:
    """The pids of a job's ranks, as soon as there are so many."""
    deadline = time.monotonic() + STARTUP
    while time.monotonic() < deadline:
        found = host_jobs.of_process(pid, host_jobs.find())
        if found is not None and len(found.ranks) == number:
            return found.ranks
        time.sleep(0.5)
    raise AssertionError("the job did not start")


def stand(pids: Sequence[int]) -> None:
    """Wait until these processes have joined (gloo's threads run) and use no processor any more."""
    deadline, since, used = time.monotonic() + STARTUP, time.monotonic(), -1.0
    while time.monotonic() < deadline and time.monotonic() - since < SETTLED:
        time.sleep(0.5)
        names = [task.joinpath("comm").read_text() for pid in pids for task in Path(f"/proc/{pid}/task").iterdir()]
        now = sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)
        if now - used > 0.02 or sum("gloo" in name for name in names) < len(pids):
            since, used = time.monotonic(), now


def test_a_cycle_is_proven_and_secrets_stay_where_they_are(tmp_path: Path) -> None:
    """One job for all of it: the verdict, the job that goes on, the bundle that says the same and holds no secret."""
    with job(torchrun(PROGRAMS / "secret_ring.py", 2), tmp_path / "log") as pid:
        ranks = ranks_of(pid, 2)
        stand(ranks)
        switches = [psutil.Process(rank).num_ctx_switches().involuntary for rank in ranks]
        report = told(dump(str(ranks[1]), "--json", "--bundle", str(tmp_path / "bundle")))
        assert [psutil.Process(rank).status() for rank in ranks] == ["sleeping", "sleeping"]
        assert [psutil.Process(rank).num_ctx_switches().involuntary for rank in ranks] == switches
        screen = dump("secret_ring.py", "--html", str(tmp_path / "page.html"))
    first = report["diagnoses"][0]
    assert (report["outcome"], report["deadlock"], first["code"]) == ("hang", "proven", "DD218")
    assert "rank 0 waits in recv from rank 1" in first["summary"]
    assert screen.returncode == 1, screen.stderr
    assert "deadlock proven" in screen.stdout
    page = (tmp_path / "page.html").read_bytes()
    assert page.startswith(b"<!doctype html>")
    assert b"rank 0 waits in recv from rank 1" in page
    replayed = subprocess.run(
        [sys.executable, "-m", "ddpdoctor", "diagnose", "--json", "-", str(tmp_path / "bundle")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert json.loads(replayed.stdout)["diagnoses"][0]["summary"] == first["summary"]
    assert _joined(tmp_path / "bundle", tmp_path / "nodes") == first["summary"]
    kept = b"".join(path.read_bytes() for path in (tmp_path / "bundle").rglob("*") if path.is_file())
    assert b"round_number" in kept
    for secret in SECRETS:
        assert secret not in kept
        assert secret not in json.dumps(report).encode()
        assert secret not in page


def _joined(whole: Path, folder: Path) -> str:
    """What is said of the evidence of the same job as two nodes would have kept it, each of its rank."""
    capture = bundle.read(whole)
    for rank in (0, 1):
        pid = next(worker.pid for worker in capture.samples[0].workers if worker.rank == rank)
        samples = tuple(
            replace(
                sample,
                workers=tuple(worker for worker in sample.workers if worker.pid == pid),
                parts=tuple(part for part in sample.parts if part.pid == pid),
            )
            for sample in capture.samples
        )
        bundle.write(folder / f"node{rank}", replace(capture, samples=samples))
    command = [sys.executable, "-m", "ddpdoctor", "diagnose", "--json", "-", str(folder)]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    assert report["deadlock"] == "proven"
    return str(report["diagnoses"][0]["summary"])


IDLE = "import time\nprint('up', flush=True)\ntime.sleep(300)"


@contextlib.contextmanager
def stand_in(run: str) -> Iterator[int]:
    """A process that looks like the only rank of a job."""
    told = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "localhost", "MASTER_PORT": "29511"}
    environ = {**os.environ, **told, "TORCHELASTIC_RUN_ID": run}
    with subprocess.Popen([sys.executable, "-c", IDLE], env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process.pid
        process.kill()


def test_of_several_jobs_one_is_named() -> None:
    with stand_in("red"), stand_in("blue") as other:
        said = dump()
        assert said.returncode == 2
        assert "jobs run on this host" in said.stderr
        assert str(other) in said.stderr
        assert told(dump("blue", "--json"))["ranks"][0]["rank"] == 0
        assert "one report only" in dump("red", "blue", "--json").stderr


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("1", "process 1 "),
        ("4194304", "does not exist"),
        ("no-such-job", "no job is called 'no-such-job'"),
    ],
)
def test_what_is_no_job_is_one_clear_line(asked: str, answer: str) -> None:
    said = dump(asked)
    assert said.returncode == 2
    assert answer in said.stderr.splitlines()[0]
    assert "Traceback" not in said.stderr


def test_a_job_that_has_ended_is_one_clear_line() -> None:
    with stand_in("red") as pid:
        pass
    said = dump(str(pid))
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)
    assert f"process {pid} does not exist" in said.stderr


def test_a_job_goes_on_undisturbed(tmp_path: Path) -> None:
    """Fifty looks change the pace of a healthy job's steps by less than a twentieth."""
    with job(torchrun(PROGRAMS / "slow_steps.py", 2, str(tmp_path)), tmp_path / "log") as pid:
        ranks_of(pid, 2)
        while not (tmp_path / "0.steps").exists() and psutil.pid_exists(pid):
            time.sleep(0.5)
        alone = _steps_of(tmp_path, 20.0)
        ends = time.monotonic()
        for _ in range(50):
            assert told(dump(str(pid), "--json"))["outcome"] in ("healthy", "slow")
        beside = _steps_since(tmp_path, time.monotonic() - ends)
        (tmp_path / "enough").touch()
    assert statistics.median(beside) < 1.05 * statistics.median(alone)


def _steps_of(folder: Path, seconds: float) -> list[float]:
    time.sleep(seconds)
    return _steps_since(folder, seconds)


def _steps_since(folder: Path, seconds: float) -> list[float]:
    """The lengths of rank 0's steps of the last seconds."""
    lengths = [float(line) for line in (folder / "0.steps").read_text().splitlines()]
    found: list[float] = []
    while lengths and sum(found) < seconds:
        found.append(lengths.pop())
    return found


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="makes namespaces, as root")
def test_from_outside_a_container_the_job_looks_as_from_inside(tmp_path: Path) -> None:
    """Its own process ids, and a source file that only it sees."""
    inside = tmp_path / "only-inside"
    inside.mkdir()
    script = (
        f"mount -t tmpfs none {inside} && cp {PROGRAMS / 'secret_ring.py'} {inside}/ring.py && "
        f"exec {Path(sys.executable).with_name('torchrun')} --standalone --nproc-per-node 2 {inside}/ring.py"
    )
    command = ["unshare", "--pid", "--mount", "--fork", "--mount-proc", "sh", "-c", script]
    with job(command, tmp_path / "log") as pid:
        ranks = ranks_of(pid, 2)
        stand(ranks)
        report = told(dump(str(ranks[0]), "--json"))
    first = report["diagnoses"][0]
    assert (report["deadlock"], first["code"], report["gaps"]) == ("proven", "DD218", [])
    assert first["locations"][0]["source"].startswith("dist.recv")


def test_ranks_that_spawn_started_are_found_by_torch_s_frames(tmp_path: Path) -> None:
    with job([sys.executable, str(PROGRAMS / "spawned_ring.py")], tmp_path / "log") as pid:
        deadline = time.monotonic() + STARTUP
        while len(_spawned(pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.5)
        stand(_spawned(pid))
        report = told(dump(str(_spawned(pid)[1]), "--json"))
    first = report["diagnoses"][0]
    assert (report["deadlock"], first["code"], report["gaps"]) == ("proven", "DD218", [])


def _spawned(pid: int) -> list[int]:
    children = psutil.Process(pid).children()
    return [child.pid for child in children if any("spawn_main" in word for word in child.cmdline())]


def _nobody_can_run() -> bool:
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return False
    test = [*NOBODY, "sh", "-c", f"{sys.executable} -c 'import torch'"]
    return subprocess.run(test, capture_output=True, check=False, cwd="/").returncode == 0


@pytest.mark.skipif(not _nobody_can_run(), reason="another user cannot run this interpreter")
def test_a_user_without_privileges_looks_at_a_job_of_that_user(tmp_path: Path) -> None:
    with job([*NOBODY, *torchrun(PROGRAMS / "secret_ring.py", 2)], tmp_path / "log") as pid:
        ranks = ranks_of(pid, 2)
        stand(ranks)
        report = told(dump(str(pid), "--json", prefix=NOBODY))
        refused = dump(str(os.getpid()), prefix=NOBODY)
    assert (report["deadlock"], report["gaps"]) == ("proven", [])
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


@contextlib.contextmanager
def hung_with_a_pipe(folder: Path, *seconds: str) -> Iterator[int]:
    """A job that stands, whose ranks answer with their recorders after so many seconds each."""
    environ = {"TORCH_NCCL_DEBUG_INFO_PIPE_FILE": str(folder / "p"), "TORCH_FR_DUMP_TEMP_FILE": str(folder / "fr")}
    program = torchrun(PROGRAMS / "recorder_pipe.py", 2, str(folder), "hung", *seconds)
    with started(program, folder / "log", environ) as process:
        stand(ranks_of(process.pid, 2))
        yield process.pid


def _verdict(report: dict[str, Any]) -> tuple[str, list[tuple[str, list[int]]]]:
    return report["outcome"], [(found["code"], found["culprits"]) for found in report["diagnoses"][:1]]


def test_a_recorder_that_a_pipe_asks_for_is_evidence(tmp_path: Path) -> None:
    with hung_with_a_pipe(tmp_path) as pid:
        report = told(dump(str(pid), "--wait", "5s", "--json"))
        asked = [(tmp_path / f"asked{rank}").read_text() for rank in (0, 1)]
    assert _verdict(report) == ("hang", [("DD203", [1])])
    assert (report["deadlock"], report["gaps"], asked) == ("suspected", [], ["1", "1"])


def test_an_answer_that_is_late_or_never_comes_makes_no_job_healthy(tmp_path: Path) -> None:
    """Rank 0 works for its answer while the next look is taken, which is not the job's work."""
    with hung_with_a_pipe(tmp_path, "17", "never") as pid:
        reports = [told(dump(str(pid), "--wait", "5s", "--json")) for _ in range(2)]
        assert (tmp_path / "fr0").exists()
    for report in reports:
        assert _verdict(report) == ("hang", [("DD203", [1])])
        assert report["deadlock"] == "suspected"
        gaps = {gap["rank"]: gap["reason"] for gap in report["gaps"] if gap["source"] == "recorder"}
        assert sorted(gaps) == [0, 1]
        assert all("no file came within 15 s" in reason for reason in gaps.values())
    assert "ago is left aside" in str(reports[1]["gaps"])


def test_follow_tells_a_hang_that_begins_later_and_ctrl_c_leaves_the_job(tmp_path: Path) -> None:
    """The first look finds a job that moves; in the next ones it stands, and what stood from one to the other is
    suspected."""
    program = torchrun(PROGRAMS / "stops_later.py", 2, str(tmp_path))
    follow = [sys.executable, "-m", "ddpdoctor", "dump", "--follow"]
    with job(program, tmp_path / "log") as pid, (tmp_path / "told").open("w") as out:
        ranks = ranks_of(pid, 2)
        _wait_for(lambda: all((tmp_path / f"{rank}.moves").exists() for rank in (0, 1)))
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        with subprocess.Popen([*follow, str(pid)], stdout=out, stderr=out, env=environ) as following:
            _wait_for(lambda: (tmp_path / "told").read_text().count("HEALTHY") == 1)
            (tmp_path / "stop").touch()
            _wait_for(lambda: "deadlock suspected" in (tmp_path / "told").read_text())
            following.send_signal(signal.SIGINT)
            status = following.wait(STARTUP)
        assert all(psutil.Process(rank).status() == "sleeping" for rank in ranks)
        assert psutil.Process(pid).is_running()
    text = (tmp_path / "told").read_text()
    assert status == 130, text
    assert "Traceback" not in text
    assert text.index("HEALTHY") < text.index("HANG")
    assert "rank 1" in text[text.index("HANG") :].splitlines()[0]


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + STARTUP
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)
