"""Order, groups, crashes, ranks that are gone, stopped, slow, or simply still."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.digest import failure as failures
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Outcome
from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import At, Doing, job, raised

AT = At()
MAIN = AT.line(30, "main")


@pytest.mark.parametrize("odd", range(3))
def test_order_of_collectives_that_all_know(odd: int) -> None:
    # GIVEN an earlier round in which all made both calls, and one rank that swaps them in the second
    known = [AT.all("all_reduce", 3), AT.all("all_gather", 4)]
    usual = Doing([*known, AT.all("all_reduce", 3)])
    swapped = Doing([*known, AT.all("all_gather", 4)])
    report = examine(job([swapped if rank == odd else usual for rank in range(3)]))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD213", (odd,))
    assert report.deadlock is Deadlock.PROVEN
    assert found.locations[0].line == 4


def test_one_loop_that_calls_this_here_and_that_there() -> None:
    # GIVEN the first round: nobody has made the other's call, but one comprehension leads to both
    code = {AT.file: "def mean(x):\n    all_reduce(x)\ndef middle(x):\n    all_gather(x)\n\ndef agree(board):\n"}
    code[AT.file] += "    return {name: board[name]() for name in board}\n"
    callers = (AT.line(7, "agree"), MAIN)
    usual = Doing([AT.all("all_reduce", 2, function="mean")], callers=callers)
    odd = Doing([AT.all("all_gather", 4, function="middle")], callers=callers)
    report = examine(job([usual, odd, usual], code=code))
    assert report.diagnoses[0].code == "DD213"
    assert report.diagnoses[0].culprits.members == (1,)


def test_different_roots_at_the_same_place() -> None:
    report = examine(job([Doing([AT.broadcast(3, 0)]), Doing([AT.broadcast(3, 1)]), Doing([AT.broadcast(3, 0)])]))
    assert report.diagnoses[0].code == "DD213"
    assert "root 1" in report.diagnoses[0].summary


@pytest.mark.parametrize("odd", range(3))
def test_groups_in_another_order(odd: int) -> None:
    groups = {"g": range(3), "d": range(3)}
    rounds = [AT.all("all_reduce", 9, group="g"), AT.all("all_reduce", 9, group="d")]
    usual = Doing([*rounds, AT.all("all_reduce", 9, group="g")])
    swapped = Doing([*rounds, AT.all("all_reduce", 9, group="d")])
    report = examine(job([swapped if rank == odd else usual for rank in range(3)], groups=groups))
    found = report.diagnoses[0]
    assert (found.code, found.confidence) == ("DD220", Confidence.CERTAIN)
    assert found.culprits.members == (odd,)


def test_cycle_through_many_groups_blames_nobody() -> None:
    groups = {"t0": (0, 1), "t1": (2, 3), "d0": (0, 2), "d1": (1, 3)}
    names = ["t0", "d1", "d0", "t1"]
    report = examine(job([Doing([AT.all("all_reduce", 3, group=name)]) for name in names], groups=groups))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD220", ())
    assert "4 process groups" in found.summary


def test_two_ranks_without_a_majority_are_undecided() -> None:
    report = examine(job([Doing([AT.all("barrier", 3)]), Doing([AT.broadcast(8, 0)])]))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD299", ())
    assert {location.line for location in found.locations} == {3, 8}


def test_first_exception_raised_is_the_cause_whoever_ends_first() -> None:
    # GIVEN victims that ended before the culprit, which was busy in a `finally`
    peer = "Connection closed by peer [127.0.0.1]:4711"
    victim = Doing([AT.all("all_reduce", 3)], raised=raised("RuntimeError", peer, 10.5, AT.line(3)), exit_status=1)
    culprit = Doing([AT.all("barrier", 2)], raised=raised("KeyError", "'stars'", 10.0, AT.line(7)), exit_status=1)
    report = examine(job([victim, culprit, victim]))
    found = report.diagnoses[0]
    assert (report.outcome, report.deadlock) == (Outcome.CRASH, Deadlock.NO)
    assert (found.code, found.confidence, found.culprits.members) == ("DD251", Confidence.CERTAIN, (1,))
    assert found.locations[0].line == 7
    assert "KeyError: 'stars'" in found.summary
    assert "KeyError" in found.traceback
    assert "Ranks 0,2 only lost it" in found.why


def test_killed_rank_is_named_with_its_signal() -> None:
    gone = Doing([AT.all("barrier", 2)], exit_status=-9)
    report = examine(job([Doing([AT.all("all_reduce", 3)]), gone]))
    found = report.diagnoses[0]
    assert (report.outcome, found.code, found.culprits.members) == (Outcome.CRASH, "DD251", (1,))
    assert "SIGKILL" in found.summary
    assert "out-of-memory" in found.fix


def test_sigterm_after_another_exit_is_the_launchers_doing() -> None:
    # GIVEN a rank whose connection failed, which ended first, and one that torchrun then ended
    lost = raised("RuntimeError", "Gloo connectFullMesh failed: timed out", 40.0, AT.line(3))
    first = Doing([], blocked=False, raised=lost, exit_status=1)
    second = Doing([], blocked=False, exit_status=-15)
    found = examine(job([first, second])).diagnoses[0]
    assert (found.code, found.culprits.members, found.confidence) == ("DD251", (0,), Confidence.POSSIBLE)
    assert "no rank has a failure of its own" in found.why.lower()


def test_only_consequences_of_a_rank_that_is_not_seen() -> None:
    evidence = job([Doing([], blocked=False, exit_status=-15), Doing([], blocked=False)])
    lost = raised("RuntimeError", "Connection closed by peer", 10.0, AT.line(3))
    victim = job([Doing([], blocked=False, raised=lost, exit_status=1)])
    ranks = (replace(victim.ranks[0], rank=Rank(1)),)
    report = examine(replace(evidence, ranks=ranks, world_size=3))
    found = report.diagnoses[0]
    assert report.outcome is Outcome.CRASH
    assert (found.code, found.culprits.members) == ("DD299", (0, 2))


def test_exception_that_a_finally_still_hides_comes_before_its_victims() -> None:
    peer = raised("RuntimeError", "Connection closed by peer", 10.5, AT.line(3))
    victim = Doing([AT.all("all_reduce", 3)], raised=peer, exit_status=1)
    evidence = job([victim, Doing([], blocked=False, stands=AT.line(9))])
    page = evidence.ranks[1].page
    assert page
    pending = replace(page, pending=(raised("ValueError", "no label", 10.0, AT.line(7)),))
    report = examine(replace(evidence, ranks=(evidence.ranks[0], replace(evidence.ranks[1], page=pending))))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD251", (1,), 7)


def test_abort_of_gloo_is_not_certain_to_be_the_cause() -> None:
    report = examine(job([Doing([AT.all("all_reduce", 3)]), Doing([AT.all("all_reduce", 3)], exit_status=-6)]))
    assert report.diagnoses[0].code == "DD251"
    assert report.diagnoses[0].confidence is Confidence.LIKELY


def test_rank_that_finished_while_others_wait() -> None:
    gone = Doing([AT.all("barrier", 2)], exit_status=0)
    waits = Doing([AT.all("barrier", 2), AT.all("new_group", 4)])
    report = examine(job([waits, waits, gone]))
    found = report.diagnoses[0]
    assert (found.code, found.confidence) == ("DD252", Confidence.CERTAIN)
    assert found.culprits.members == (2,)
    assert found.locations[0].line == 4
    assert (report.outcome, report.deadlock) == (Outcome.HANG, Deadlock.PROVEN)


def test_rank_that_finished_in_the_middle_of_training_may_have_run_out_of_data() -> None:
    gone = Doing(stories.epoch(3), exit_status=0, blocked=False)
    report = examine(job([stories.in_backward(4), stories.in_backward(4), gone], code=stories.CODE))
    found = next(diagnosis for diagnosis in report.diagnoses if diagnosis.code == "DD252")
    assert found.confidence is Confidence.LIKELY


def test_stopped_process() -> None:
    stopped = Doing([AT.all("barrier", 2)], blocked=False, stands=AT.line(5), state="T")
    waits = Doing([AT.all("barrier", 2), AT.all("all_reduce", 4)])
    report = examine(job([waits, stopped, waits]))
    found = report.diagnoses[0]
    assert (report.outcome, report.deadlock) == (Outcome.HANG, Deadlock.SUSPECTED)
    assert (found.code, found.culprits.members) == ("DD244", (1,))
    assert "kill -CONT 1001" in found.fix


def test_working_rank_is_slow_and_named() -> None:
    busy = Doing([AT.all("barrier", 2)], blocked=False, stands=AT.line(5), state="R", cpu_share=0.97, moves=True)
    waits = Doing([AT.all("barrier", 2), AT.all("barrier", 4)])
    report = examine(job([busy, waits, waits]))
    found = report.diagnoses[0]
    assert (report.outcome, report.deadlock) == (Outcome.SLOW, Deadlock.NO)
    assert (found.code, found.culprits.members) == ("DD231", (0,))
    assert found.locations[0].line == 5
    assert found.confidence is not Confidence.CERTAIN


def test_sleeping_rank_is_not_called_slow() -> None:
    still = Doing([AT.all("barrier", 2)], blocked=False, stands=AT.line(5))
    waits = Doing([AT.all("barrier", 2), AT.all("barrier", 4)])
    report = examine(job([waits, still, waits]))
    found = report.diagnoses[0]
    assert (report.outcome, report.deadlock) == (Outcome.HANG, Deadlock.SUSPECTED)
    assert (found.code, found.culprits.members) == ("DD299", (1,))
    assert "idle in" in found.summary


def test_all_ranks_in_one_long_step_are_healthy() -> None:
    busy = Doing([AT.all("barrier", 2)], blocked=False, stands=AT.line(5), state="R", cpu_share=1.0, moves=True)
    report = examine(job([busy, busy]))
    assert (report.outcome, report.diagnoses) == (Outcome.HEALTHY, ())


def test_histories_that_part_under_a_working_rank_accuse_nobody() -> None:
    # GIVEN a rank that ran out of data and waits (as under Join), and one that still works on its next batch
    busy = Doing(stories.epoch(4), blocked=False, stands=AT.line(11), state="R", cpu_share=1.0, moves=True)
    report = examine(job([stories.ran_out(), busy], code=stories.CODE))
    assert report.outcome is Outcome.SLOW
    assert {diagnosis.code for diagnosis in report.diagnoses} == {"DD231"}


def test_rules_without_their_sources_are_listed() -> None:
    evidence = stories.among(2, 1, stories.ran_out)
    blind = tuple(replace(seen, page=None) for seen in evidence.ranks)
    gaps = tuple(Gap(Source.PAGES, Rank(r), "the probe is off") for r in range(2))
    report = examine(replace(evidence, ranks=blind, gaps=gaps))
    assert "DD201" in report.not_considered
    assert report.deadlock is Deadlock.SUSPECTED
    assert report.gaps == gaps


def test_report_counts_seconds_from_the_start() -> None:
    timeline = examine(stories.among(2, 1, stories.ran_out)).timeline
    assert (timeline.last_progress, timeline.detected, timeline.reported) == (96.0, 99.0, 100.0)


def test_an_exception_of_a_data_worker_is_told_in_its_own_words_and_at_its_own_line() -> None:
    # GIVEN what torch makes of an exception in a DataLoader's worker: the traceback is only text
    message = (
        "Caught ValueError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
        '  File "/env/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py", line 358, in _worker_loop\n'
        "    data = fetcher.fetch(index)\n"
        '  File "/job/train.py", line 14, in __getitem__\n    raise ValueError(text)\n'
        "ValueError: record 57 has no label\n"
    )
    retold = raised("ValueError", message, 60.0, AT.line(20))
    assert failures.raised_site(retold) == Site("/job/train.py", 14, "__getitem__")
    assert failures.said(retold) == "record 57 has no label (in DataLoader worker process 0)"
    # WHEN the text is cut off, or it is the program's own THEN nothing is made of it
    assert failures.raised_site(raised("ValueError", message[:90], 60.0, AT.line(20))) == AT.line(20)
    own = raised("KeyError", "Caught nothing in here.\nsecond line", 60.0, AT.line(20))
    assert (failures.raised_site(own), failures.said(own)) == (AT.line(20), "Caught nothing in here.")
