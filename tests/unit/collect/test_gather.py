"""Collection from real processes: every available source, and a Gap for every other one."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ddpdoctor.collect.capture import Gone, PartKind
from ddpdoctor.collect.gather import take_sample
from ddpdoctor.collect.page import decode_page
from ddpdoctor.model.evidence import Source
from ddpdoctor.model.ranks import Role, Worker
from tests.unit.collect.conftest import Start, comes, worker

#: a rank with a page and a text of a fatal signal, and no recorder
RANK = """
import os, sys
from ddpdoctor.probe.writer import PageWriter, started_ticks
facts = dict(pid=os.getpid(), started_ticks=started_ticks(), rank=0, world_size=1)
page = PageWriter(os.path.join(sys.argv[1], f"{os.getpid()}.page"), facts)
open(os.path.join(sys.argv[1], f"{os.getpid()}.fatal"), "w").write("text")
print('up', flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def run() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ddp-") as made:
        yield Path(made)


def test_everything_of_a_rank(start: Start, run: Path) -> None:
    rank = worker(start(RANK, str(run)).pid)
    before = time.monotonic()
    found = take_sample((rank,), run, deadline=30)
    assert before < found.time <= time.monotonic()
    parts = {part.kind: part for part in found.parts}
    assert set(parts) == {PartKind.PAGE, PartKind.PROCESS, PartKind.STACKS, PartKind.FATAL}
    assert decode_page(parts[PartKind.PAGE].data).pid == rank.pid
    assert parts[PartKind.FATAL].data == b"text"
    assert parts[PartKind.STACKS].source == "py-spy --nonblocking"
    assert [(gap.source, gap.rank) for gap in found.gaps] == [(Source.RECORDER, 0)]


def test_only_what_is_asked_for(start: Start, run: Path) -> None:
    rank = worker(start(RANK, str(run)).pid)
    found = take_sample((rank,), run, frozenset({PartKind.PAGE}))
    assert [part.kind for part in found.parts] == [PartKind.PAGE]
    assert found.gaps == ()


def test_a_dead_rank_leaves_its_page(start: Start, run: Path) -> None:
    process = start(RANK, str(run))
    rank = worker(process.pid)
    process.kill()
    process.wait()
    found = take_sample((rank,), run)
    assert {part.kind for part in found.parts} == {PartKind.PAGE, PartKind.FATAL}
    assert found.gaps == ()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -9), (signal.SIGTERM, -15)])
def test_how_a_rank_ended_is_known_until_its_parent_asks(start: Start, run: Path, number: int, status: int) -> None:
    # GIVEN a launcher that waits for another rank first, and so leaves this one a zombie
    process = start(RANK, str(run))
    rank = worker(process.pid)
    assert take_sample((rank,), run).gone == ()
    process.send_signal(number)
    assert comes(lambda: take_sample((rank,), run, frozenset({PartKind.PAGE})).gone == (Gone(rank.pid, status),))
    # WHEN it has asked
    process.wait()
    # THEN only that it is gone is known
    assert take_sample((rank,), run).gone == (Gone(rank.pid, None),)


def test_the_recorder_of_a_stopped_rank_is_not_asked(start: Start, run: Path) -> None:
    process = start(RANK, str(run))
    os.kill(process.pid, signal.SIGSTOP)
    rank = worker(process.pid)
    assert comes(lambda: "T" in Path(f"/proc/{process.pid}/stat").read_text())
    found = take_sample((rank,), run, frozenset({PartKind.RECORDER}))
    assert [gap.reason for gap in found.gaps] == ["a stopped process cannot answer"]


def test_a_page_that_is_cut_off_and_one_that_is_not_there(start: Start, run: Path) -> None:
    first, second = start(RANK, str(run)), start(RANK, str(run))
    os.truncate(run / f"{first.pid}.page", 10)
    (run / f"{second.pid}.page").unlink()
    found = take_sample((worker(first.pid), worker(second.pid, 1)), run, frozenset({PartKind.PAGE}))
    seen = [(part.pid, len(part.data)) for part in found.parts]
    assert seen in ([], [(first.pid, 10)])
    assert {gap.rank for gap in found.gaps} >= {1}


def test_launchers_are_not_looked_into(start: Start, run: Path) -> None:
    process = start(RANK, str(run))
    launcher = Worker(process.pid, 0.0, Role.LAUNCHER)
    found = take_sample((launcher,), run)
    assert (found.parts, found.gaps) == ((), ())


def test_what_does_not_come_in_time_is_a_gap(start: Start, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rank = worker(start(RANK, str(run)).pid)
    slow = run / "py-spy"
    slow.write_text("#!/bin/sh\nexec sleep 5\n")
    slow.chmod(0o755)
    monkeypatch.setattr("ddpdoctor.collect.pyspy.find", lambda: str(slow))
    began = time.monotonic()
    found = take_sample((rank,), run, frozenset({PartKind.PAGE, PartKind.STACKS}), deadline=1.0)
    assert time.monotonic() - began < 4.0
    assert [part.kind for part in found.parts] == [PartKind.PAGE]
    assert [(gap.source, gap.reason) for gap in found.gaps] == [(Source.STACKS, "no answer within 1 s")]
