"""Ranks of other nodes are not seen: unknown is not absent, and neither is it agreement; and how ranks ended."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from tests.unit.diagnose.builders import At, Doing, job

AT = At()


def test_who_was_not_seen_may_be_the_one_that_is_missing() -> None:
    waiting = Doing([AT.all("all_reduce", 3)])
    report = examine(replace(job([waiting, waiting], code={AT.file: "\n\nx\n"}), world_size=4))
    first = report.diagnoses[0]
    assert (first.code, first.culprits.members) == ("DD299", ())
    assert "nothing is known about ranks 2-3" in first.summary
    assert "agrees with itself" not in first.why
    assert "every node" in first.fix


def test_how_a_rank_ended_is_told_by_name() -> None:
    ends = [Doing([AT.all("all_reduce", 3)], exit_status=status) for status in (-6, -34, 1)]
    report = examine(job(ends, code={AT.file: "\n\nx\n"}))
    assert [rank.label for rank in report.ranks] == ["ended by SIGABRT", "ended by signal 34", "exit status 1"]
