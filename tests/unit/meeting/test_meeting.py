"""A watcher's way to the others: what is asked before there is a way is asked as soon as there is one."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from ddpdoctor.meeting.meeting import Meeting
from ddpdoctor.meeting.messages import Absent, Digest, Why
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.probe.meeting_place import NOTE

RANKS = RankSet.of((0,))


class Nobody:
    """A watcher that has nothing to say."""

    def digest(self, node: Rank, why: Why) -> Digest:
        del why
        return Digest(node, 9.0, ())

    def parts(self, ranks: RankSet, why: Why) -> bytes | None:
        del ranks, why
        return None

    def judge(self, parts: Mapping[Rank, bytes], absent: tuple[Absent, ...], digests: Mapping[Rank, Digest]) -> bytes:
        del parts, absent, digests
        return b""


def note(run: Path) -> None:
    told = {"host": "node-0", "port": 29400, "namespace": "ddpdoctor/1/x.0.2", "world_size": 2}
    (run / f"{NOTE}0.2").write_text(json.dumps({**told, "rank": 0, "pid": 1, "python": sys.executable}))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def test_a_job_that_one_watcher_sees_asks_nobody(run: Path, tmp_path: Path) -> None:
    meeting = Meeting(run, Nobody(), tmp_path / "shared")
    assert not meeting.spans
    assert not meeting.want(Why.STALLED)
    assert not meeting.meets


def test_what_is_wanted_before_there_is_a_session_is_asked_when_it_opens(run: Path, tmp_path: Path) -> None:
    meeting = Meeting(run, Nobody(), tmp_path / "shared")
    note(run)
    assert meeting.spans
    assert meeting.want(Why.STALLED)
    assert meeting.meets
    deadline = time.monotonic() + 30.0
    while not any((tmp_path / "shared").rglob("*open*")) and time.monotonic() < deadline:
        meeting.tick(time.monotonic(), RANKS)
        time.sleep(0.01)
    assert any((tmp_path / "shared").rglob("*open*"))
    meeting.close()


def test_a_place_that_cannot_be_used_is_no_reason_to_wait(run: Path, tmp_path: Path) -> None:
    (tmp_path / "shared").write_text("a file")
    meeting = Meeting(run, Nobody(), tmp_path / "shared")
    note(run)
    assert meeting.want(Why.STALLED)
    for _ in range(3):
        meeting.tick(time.monotonic(), RANKS)
    assert meeting.obstacle
    assert not meeting.meets
    assert not meeting.want(Why.STALLED)
