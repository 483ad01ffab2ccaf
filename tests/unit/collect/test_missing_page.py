"""Why a rank has no page, derived from its process's command line and environment."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ddpdoctor.collect import missing_page
from ddpdoctor.launch.environment import TorchVersion, plan
from ddpdoctor.model.evidence import Gap
from tests.unit.collect.conftest import worker

PROGRAM = "print('up', flush=True); input()"
WITH_TORCH = f"import torch; {PROGRAM}"


@contextmanager
def process(*flags: str, program: str = PROGRAM, **environ: str) -> Iterator[int]:
    planned = plan({}, TorchVersion("2.13"), run=Path(tempfile.gettempdir()), watch_pid=1).set
    with subprocess.Popen(
        [sys.executable, *flags, "-c", program],
        env={**planned, **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"up\n"
        yield started.pid
        started.kill()


@pytest.mark.parametrize(
    ("flags", "environ", "reason"),
    [
        ((), {"_DDPDOCTOR_RUN": ""}, "did not reach this process"),
        ((), {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}, "AUTOLOAD=0"),
        (("-B", "-I"), {}, "`python -I` ignores"),
        (("-sE",), {}, "`python -E` ignores"),
        ((), {"_DDPDOCTOR_RUN": "/nowhere/ddpdoctor-1-x"}, "is not there: /nowhere/ddpdoctor-1-x"),
        ((), {"PYTHONPATH": "/mine:"}, "replaced the PYTHONPATH"),
        (("-s",), {}, "has not reached init_process_group"),
    ],
)
def test_what_was_lost_on_the_way(flags: tuple[str, ...], environ: dict[str, str], reason: str) -> None:
    with process(*flags, **environ) as pid:
        found = missing_page.missing_page_gap(worker(pid, 3))
    assert reason in found.reason
    assert found.rank == 3


def test_a_process_that_is_gone() -> None:
    with process() as pid:
        pass
    found = missing_page.missing_page_gap(worker(pid))
    assert isinstance(found, Gap)
    assert found.remedy == ""


def test_another_user() -> None:
    with process() as pid:
        started = missing_page._Started.of(pid)
    obstacle = dataclasses.replace(started, owner=os.geteuid() + 1).obstacle()
    assert obstacle is not None
    assert "another user" in obstacle[0]


def test_a_full_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    with process() as pid:
        started = missing_page._Started.of(pid)
    monkeypatch.setattr(missing_page, "_free_bytes", lambda folder: 4096)
    obstacle = started.obstacle()
    assert obstacle is not None
    assert f"there is no space left for its page in {tempfile.gettempdir()}" in obstacle[0]


def test_processes_that_have_torch_and_no_probe() -> None:
    """Those without torch are none of the job's ranks, and with the probe on its path nothing is amiss."""
    with (
        process(program=WITH_TORCH, PYTHONPATH="/mine") as one,
        process(program=WITH_TORCH, PYTHONPATH="/mine") as other,
        process(PYTHONPATH="/mine") as plain,
        process(program=WITH_TORCH) as probed,
    ):
        found = missing_page.unprobed_gap(worker(pid) for pid in (one, other, plain, probed))
        alone = missing_page.unprobed_gap([worker(one)])
        nothing = missing_page.unprobed_gap([worker(plain), worker(probed)])
    assert found is not None
    assert found.reason.startswith("2 processes have loaded torch without the probe: something replaced the PYTHONPATH")
    assert found.remedy.startswith("extend it")
    assert alone is not None
    assert alone.reason.startswith("a process has loaded torch without")
    assert nothing is None
    assert missing_page.unprobed_gap([worker(one)]) is None  # it has ended


@pytest.mark.parametrize(
    ("words", "letters"),
    [
        ("python3.11 -IB -X dev train.py -E", "IB"),
        ("/env/bin/python -u -m pkg -I", "um"),
        ("python -um pkg -I", "um"),
        ("python -W error -c code -E", "c"),
        ("torchrun -I", ""),
        ("", ""),
    ],
)
def test_an_interpreters_own_options(words: str, letters: str) -> None:
    assert missing_page.python_options(words.split()) == frozenset(letters)
