"""The state of each rank."""

from __future__ import annotations

from ddpdoctor.diagnose.engine import examine
from tests.unit.diagnose.builders import At, Doing, job

AT = At()


def test_how_a_rank_ended_is_told_by_name() -> None:
    ends = [Doing([AT.all("all_reduce", 3)], exit_status=status) for status in (-6, -34, 1)]
    report = examine(job(ends, code={AT.file: "\n\nx\n"}))
    assert [rank.label for rank in report.ranks] == ["ended by SIGABRT", "ended by signal 34", "exit status 1"]


def test_a_rank_that_is_ready_to_run_works_however_little_of_a_crowded_core_it_gets() -> None:
    waits = Doing([AT.all("barrier", 2)])
    for state, label in (("R", "working in train"), ("S", "idle in train")):
        late = Doing([], blocked=False, stands=AT.line(3, "train"), state=state, cpu_share=0.04)
        assert examine(job([waits, late], code={AT.file: "\n\nx\n"})).ranks[1].label == label
