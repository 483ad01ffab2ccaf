"""A watcher's way to the others: what is asked before there is a way is asked as soon as there is one."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from ddpdoctor.meeting.episode import Conclude
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


def note(run: Path, rank: int = 0, world_size: int = 2) -> None:
    told = {"host": "node-0", "port": 29400, "namespace": "ddpdoctor/1/x.0.2", "world_size": world_size}
    (run / f"{NOTE}0.2").write_text(json.dumps({**told, "rank": rank, "pid": 1, "python": sys.executable}))


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


def test_a_note_that_could_not_be_read_is_read_again_though_the_folder_is_as_it_was(run: Path) -> None:
    path = run / f"{NOTE}0.2"
    path.write_text("{")
    os.utime(run, (1e9, 1e9))
    meeting = Meeting(run, Nobody())
    assert not meeting.spans
    note(run)
    assert run.stat().st_mtime == 1e9, "nothing was made or renamed"
    assert meeting.spans


def test_ranks_that_are_seen_later_are_told_to_the_others(tmp_path: Path) -> None:
    meetings = []
    for name, rank in (("one", 0), ("other", 2)):
        (tmp_path / name).mkdir()
        note(tmp_path / name, rank, 4)
        meetings.append(Meeting(tmp_path / name, Nobody(), tmp_path / "shared"))
    one, other = meetings
    for seen in ((0,), (0,), (0, 1)):  # at first only one of its two ranks has been found
        one.tick(time.monotonic(), RankSet.of(seen))
    both = [(one, RankSet.of((0, 1))), (other, RankSet.of((2, 3)))]
    deadline = time.monotonic() + 30.0
    other.tick(time.monotonic(), RankSet.of((2, 3)))
    ends: list[Conclude] = []
    other.want(Why.STALLED)
    while not ends and time.monotonic() < deadline:
        ends += [end for meeting, ranks in both if (end := meeting.tick(time.monotonic(), ranks)) and meeting is other]
        time.sleep(0.01)
    for meeting in meetings:
        meeting.close()
    assert [end.absent for end in ends] == [()]


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
