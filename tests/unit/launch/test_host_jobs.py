"""Jobs of this host, found among real processes without torch: who belongs together, and what they are called."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from ddpdoctor.launch import host_jobs
from ddpdoctor.launch.host_jobs import HostJob

#: starts `ranks` copies of a script, as torchrun does, and says so when all are up
LAUNCHER = """
import os, subprocess, sys
script, ranks, run, port = sys.argv[1:]
for rank in range(int(ranks)):
    told = dict(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=ranks, MASTER_ADDR="localhost", MASTER_PORT=port)
    subprocess.Popen([sys.executable, script, run], env={**os.environ, **told, "TORCHELASTIC_RUN_ID": run})
import time
time.sleep(120)
"""
SCRIPT = "import os, subprocess, sys, time\nprint('up', flush=True)\ntime.sleep(120)\n"
#: a rank with a data worker, which inherits the rank's environment
LOADING = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', \"print('up', flush=True); input()\"])\n"

Start = Callable[..., tuple[str, int]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a job of so many ranks, and wait until they are up; gives its rendezvous id and its launcher's pid."""
    started: list[subprocess.Popen[str]] = []

    def begin(name: str, ranks: int, text: str = SCRIPT, port: str = "29500") -> tuple[str, int]:
        script = tmp_path / name
        script.write_text(text)
        run = uuid.uuid4().hex
        command = [sys.executable, "-c", LAUNCHER, str(script), str(ranks), run, port]
        kept = {k: v for k, v in os.environ.items() if k not in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "_DDPDOCTOR_RUN")}
        process = subprocess.Popen(command, env=kept, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        for _ in range(ranks):
            assert process.stdout.readline() == "up\n"
        return run, process.pid

    yield begin
    for process in started:
        with suppress(psutil.Error):
            for member in psutil.Process(process.pid).children(recursive=True):
                member.kill()
        process.kill()
        process.communicate()


def only(run: str) -> HostJob:
    (job,) = host_jobs.named(run, host_jobs.find())
    return job


def test_a_job_is_its_launcher_and_its_ranks(start: Start) -> None:
    run, pid = start("train.py", 3)
    job = only(run)
    assert (job.name, job.roots, job.world_size, job.uid) == ("train.py", (pid,), 3, os.geteuid())
    assert len(job.ranks) == 3
    assert job.age < 60


def test_two_jobs_are_told_apart_even_at_one_port(start: Start) -> None:
    first, second = start("train.py", 2), start("train.py", 2)
    assert {only(run).pid for run, _ in (first, second)} == {pid for _, pid in (first, second)}


def test_what_a_rank_has_started_is_no_rank(start: Start) -> None:
    run, _ = start("train.py", 2, LOADING)
    assert len(only(run).ranks) == 2


def test_every_process_of_a_job_leads_to_it(start: Start) -> None:
    run, pid = start("train.py", 2, LOADING)
    job = only(run)
    members = [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    assert len(members) == 5
    assert {host_jobs.of_process(member, host_jobs.find()) for member in members} == {job}


def test_a_process_above_the_launcher_leads_to_the_only_job_below_it(start: Start) -> None:
    run, pid = start("train.py", 2)
    assert host_jobs.of_process(pid, [only(run)]) == only(run)
    assert host_jobs.of_process(os.getpid(), [only(run)]) == only(run)


def test_a_process_without_a_job_leads_nowhere(start: Start) -> None:
    first, second = start("train.py", 2), start("eval.py", 2)
    assert host_jobs.of_process(os.getpid(), [only(first[0]), only(second[0])]) is None
    assert host_jobs.of_process(1, [only(first[0]), only(second[0])]) is None


def test_names_are_the_scripts_with_and_without_their_ending(start: Start) -> None:
    run, _ = start("fit_it.py", 1)
    for name in ("fit_it.py", "fit_it", run):
        assert only(run) in host_jobs.named(name, host_jobs.find())
    assert not host_jobs.named("fit", [only(run)])


def test_who_starts_several_jobs_is_the_launcher_of_none(tmp_path: Path) -> None:
    """A sweep, or a test runner."""
    runs = [uuid.uuid4().hex, uuid.uuid4().hex]
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    started = []
    for run in runs:
        told = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}
        environ = {**os.environ, **told, "TORCHELASTIC_RUN_ID": run}
        started.append(subprocess.Popen([sys.executable, str(script)], env=environ, stdout=subprocess.PIPE, text=True))
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
        assert [only(run).roots for run in runs] == [(process.pid,) for process in started]
    finally:
        for process in started:
            process.kill()
            process.communicate()
