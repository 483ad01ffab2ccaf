"""Which rank failed first, and which are only victims."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ddpdoctor.diagnose.digest import failure as failures
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Outcome, Retry
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.processes import Exit, JobEnd, Sent
from ddpdoctor.model.progress import Ending, EndKind
from ddpdoctor.model.stacks import Site
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import At, Doing, job, raised

AT = At()


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


@pytest.mark.parametrize(("ended", "code"), [(True, "DD251"), (False, "DD201")])
def test_an_abort_after_the_end_of_the_program_is_no_mismatch(ended: bool, code: str) -> None:
    """Under torch's Join the ranks have had different numbers of batches, and all of them came to the end."""
    batch, end = [AT.next(3), AT.forward(4), AT.backward(5)], [AT.stop(3), AT.all("all_reduce", 9)]
    short = Doing([*batch, *end], blocked=False, exit_status=-6)
    long = Doing([*batch, *batch, *end], blocked=False, exit_status=-15)
    evidence = job([short, long])
    page = evidence.ranks[0].page
    assert page is not None
    came = replace(page, calls=(), ending=Ending(EndKind.NORMAL, 50.0) if ended else None)
    found = examine(replace(evidence, ranks=(replace(evidence.ranks[0], page=came), evidence.ranks[1])))
    assert (found.outcome, found.diagnoses[0].code) == (Outcome.CRASH, code)
    assert ("after the end of its program" in found.diagnoses[0].summary) is ended


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


def lost_in_a_handler(**others: Any) -> Evidence:
    """Rank 1 lost a peer while it handled its own exception; the others end as given."""
    first = raised("KeyError", "x", 60.0, AT.line(11))
    second = replace(raised("RuntimeError", "Connection closed by peer", 70.0, AT.line(12)), before=(first,))
    lost = Doing(stories.in_backward(4).acts, exit_status=1, raised=second)
    return job([lost if rank == 1 else Doing(stories.epoch(3), **others) for rank in range(2)], code=stories.CODE)


def test_a_failure_behind_a_lost_peer_counts_where_nobody_else_has_a_reason() -> None:
    peer = raised("RuntimeError", "Connection closed by peer", 80.0, AT.line(9))
    found = examine(lost_in_a_handler(exit_status=1, raised=peer)).diagnoses[0]
    assert (found.code, found.culprits.members, found.confidence) == ("DD251", (1,), Confidence.LIKELY)
    assert "KeyError: x" in found.summary


def test_a_handler_that_lost_its_peer_is_a_victim_of_whoever_died() -> None:
    found = examine(lost_in_a_handler(exit_status=-9)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD251", (0,))
    assert "SIGKILL" in found.summary


def _ended(*statuses: int, told: int | None = None) -> Evidence:
    """Ranks that ended in this way, at 50, 51, ... seconds."""
    evidence = job([Doing([AT.all("barrier", 2)], exit_status=status) for status in statuses])
    ranks = tuple(replace(rank, exit=replace(rank.exit, told=told)) for rank in evidence.ranks if rank.exit)
    return replace(evidence, ranks=ranks)


def _first(evidence: Evidence) -> tuple[tuple[int, ...], str]:
    report = examine(evidence)
    found = report.diagnoses[0]
    assert (report.outcome, found.code) == (Outcome.CRASH, "DD251")
    return tuple(found.culprits.members), found.summary


@pytest.mark.parametrize("status", [-15, -2, -9, -10])
def test_ranks_that_one_signal_ended_together_are_not_to_blame(status: int) -> None:
    culprits, summary = _first(_ended(status, status))
    assert culprits == ()
    assert "ranks 0-1 were ended from outside by" in summary


def test_a_rank_that_was_alive_when_the_first_was_gone_is_no_part_of_it() -> None:
    evidence = job([Doing([AT.all("barrier", 2)], exit_status=-9), Doing([AT.all("barrier", 2)])])
    later = replace(evidence.ranks[1], exit=Exit(1001, -9, 50.5))
    culprits, summary = _first(replace(evidence, ranks=(evidence.ranks[0], later)))
    assert culprits == (0,)
    assert "rank 0 was killed by SIGKILL" in summary


def test_ranks_that_abort_together_are_not_ended_from_outside() -> None:
    culprits, _ = _first(_ended(-6, -6))
    assert culprits == (0,)


def test_what_a_launcher_ends_before_any_failure_is_told_of_the_launcher() -> None:
    culprits, summary = _first(_ended(-15, told=15))
    assert culprits == ()
    assert "its launcher sent SIGTERM to rank 0, and no rank had failed before" in summary


def test_what_follows_a_signal_that_was_passed_on_is_its_consequence() -> None:
    end = JobEnd(1, (Sent(2, 49.0),))
    culprits, summary = _first(replace(_ended(-2, 1), end=end))
    assert (culprits, summary) == ((), "the job was ended from outside: `watch` was sent SIGINT")


def test_a_failure_before_the_signal_is_the_rank_s_own() -> None:
    culprits, _ = _first(replace(_ended(3, 1), end=JobEnd(1, (Sent(15, 55.0),))))
    assert culprits == (0,)


def test_a_warning_that_a_job_lives_on_with_explains_nothing_later() -> None:
    culprits, _ = _first(replace(_ended(3, 1), end=JobEnd(1, (Sent(10, 5.0),))))
    assert culprits == (0,)


def test_a_launcher_that_fails_without_a_word_of_any_rank_is_a_crash() -> None:
    culprits, summary = _first(replace(_ended(0, 0), end=JobEnd(1)))
    assert (culprits, summary) == ((), "the job's launcher exited with status 1, and no rank left a word on why")


@pytest.mark.parametrize("status", [-6, 1, 143])
def test_a_launcher_that_answers_a_signal_in_its_own_way_was_ended_from_outside(status: int) -> None:
    first = examine(replace(_ended(0, 0), end=JobEnd(status, (Sent(15, 49.0),)))).diagnoses[0]
    assert first.summary == "the job was ended from outside: `watch` was sent SIGTERM"
    assert first.confidence is Confidence.LIKELY


@pytest.mark.parametrize(("sent", "most"), [((Sent(15, 49.0),), Confidence.POSSIBLE), ((), Confidence.LIKELY)])
def test_what_the_ranks_did_when_their_launcher_ended_is_no_certain_cause(
    sent: tuple[Sent, ...], most: Confidence
) -> None:
    """A rank saves while the others go on, and the job is ended: healthy histories differ for a moment, too."""
    doing = [stories.saves_alone(), stories.in_backward(4), stories.in_backward(4)]
    ended = [replace(one, blocked=False, exit_status=0) for one in doing]
    found = examine(replace(job(ended, code=stories.CODE), end=JobEnd(-6, sent))).diagnoses
    assert {one.code: one.confidence for one in found} == {"DD251": Confidence.LIKELY, "DD203": most}


def test_ranks_that_their_launcher_left_behind_are_named() -> None:
    evidence = replace(job([Doing([AT.all("barrier", 2)], blocked=False, moves=True)] * 2), end=JobEnd(-9))
    culprits, summary = _first(evidence)
    assert (culprits, summary) == ((), "the job's launcher was killed by SIGKILL; ranks 0-1 run on without it")
    assert "kill 1000 1001" in examine(evidence).diagnoses[0].fix


@pytest.mark.parametrize(("kills", "words"), [(0, "for the sender of SIGKILL"), (1, "use less memory")])
def test_a_kill_for_memory_is_told_where_the_kernel_counts_one(kills: int, words: str) -> None:
    gone = [Doing([AT.all("all_reduce", 3)]), Doing([AT.all("barrier", 2)], exit_status=-9)]
    found = examine(replace(job(gone), memory_kills=kills)).diagnoses[0]
    assert words in found.fix
    assert any("killed for memory" in line for line in found.evidence) is bool(kills)


RAY = "/env/lib/python3.11/site-packages/ray/train/v2/_internal/execution/worker_group/thread_runner.py"


def test_ranks_that_their_framework_ends_when_the_work_is_done_have_not_failed() -> None:
    way = (AT.line(3), Site(RAY, 37, "_run"))
    done = Doing([replace(AT.all("barrier", 3), path=way)], blocked=False, exit_status=1)
    report = examine(job([done, done]))
    assert (report.outcome, report.diagnoses) == (Outcome.HEALTHY, ())
    # WHEN one of them failed by itself THEN it alone did, and the others were ended for it
    broke = replace(done, raised=raised("KeyError", "'stars'", 10.0, AT.line(7)))
    found = examine(job([done, broke])).diagnoses[0]
    assert (found.code, found.culprits.members, found.confidence) == ("DD251", (1,), Confidence.CERTAIN)
    # WHEN no framework is on the way THEN nobody else would have ended them
    plain = Doing([AT.all("barrier", 3)], blocked=False, exit_status=1)
    assert examine(job([plain, plain])).outcome is Outcome.CRASH


@pytest.mark.parametrize(
    ("kind", "retry"),
    [("KeyError", Retry.FAILS_AGAIN), ("OutOfMemoryError", Retry.MAY_PASS), ("OSError", Retry.MAY_PASS)],
)
def test_an_exception_of_the_program_comes_again(kind: str, retry: Retry) -> None:
    lost = raised("RuntimeError", "Connection closed by peer", 10.5, AT.line(3))
    victim = Doing([AT.all("all_reduce", 3)], raised=lost, exit_status=1)
    culprit = Doing([AT.all("barrier", 2)], raised=raised(kind, "x", 10.0, AT.line(7)), exit_status=1)
    found = examine(job([victim, culprit, victim])).diagnoses[0]
    assert (found.code, found.retry) == ("DD251", retry)


def test_a_rank_that_was_killed_may_live_the_next_time() -> None:
    gone = Doing([AT.all("barrier", 2)], exit_status=-9)
    assert examine(job([Doing([AT.all("all_reduce", 3)]), gone])).diagnoses[0].retry is Retry.MAY_PASS


@pytest.mark.parametrize(
    ("page", "others", "crashed"),
    [
        (True, None, True),  # its page says that it was in the middle of its work, and the others live
        (False, None, False),  # nobody knows how it ended: it may have come to its end
        (False, 0, False),  # nor where the others did
    ],
)
def test_a_rank_of_which_nothing_tells_how_it_ended(page: bool, others: int | None, crashed: bool) -> None:
    evidence = job([Doing([AT.all("barrier", 2)], blocked=False) for _ in range(3)])
    gone = replace(evidence.ranks[2], process=None, stacks=None, exit=Exit(1002, None, 50.0))
    gone = gone if page else replace(gone, page=None)
    living = [one if others is None else replace(one, exit=Exit(1, others, 50.0)) for one in evidence.ranks[:2]]
    report = examine(replace(evidence, ranks=(*living, gone)))
    blamed = [found.culprits.members for found in report.diagnoses]
    assert (report.outcome is Outcome.CRASH) is crashed
    assert blamed[:1] == ([(2,)] if crashed else []) or report.outcome is Outcome.HANG
