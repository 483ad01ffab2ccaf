"""A framework may run the training loop in a thread of its own: that thread is the rank."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.processes import ThreadState
from ddpdoctor.model.progress import Page
from ddpdoctor.model.stacks import Site, Thread
from tests.unit.diagnose.builders import Act, At, Doing, job

TRAIN = At()
SERVING = Site("/env/lib/python3.11/site-packages/ray/_private/worker.py", 1069, "Worker.main_loop")


def threaded(evidence: Evidence, others: tuple[int, ...] = ()) -> Evidence:
    """The same work, done in another thread than the main one, which only made the process group."""
    return replace(evidence, ranks=tuple(_threaded(rank, others) for rank in evidence.ranks))


def _threaded(rank: RankEvidence, others: tuple[int, ...]) -> RankEvidence:
    pid, own = rank.worker.pid, rank.worker.pid + 500
    page, stacks, process = rank.page, rank.stacks, rank.process
    assert page is not None
    assert stacks is not None
    assert process is not None
    events = tuple(
        event if event.index in others or (event.call and event.call.op == "init_process_group") else moved
        for event in page.events
        for moved in (replace(event, thread=own, call=event.call and replace(event.call, thread=own)),)
    )
    calls = tuple(replace(call, thread=own) for call in page.calls)
    worker = Thread(own, "TrainThread", stacks.threads[0].frames)
    return replace(
        rank,
        page=replace(page, events=events, calls=calls, communicating_threads=(pid, own)),
        stacks=replace(stacks, threads=(Thread(pid, "MainThread", (SERVING,)), worker)),
        process=replace(process, threads=(*process.threads, ThreadState(own, "python", "S", "futex_do_wait", 1.0))),
    )


def doing(*, late: bool = False) -> Doing:
    start = TRAIN.all("init_process_group", 3)
    acts: list[Act] = [start, *TRAIN.step(10), *TRAIN.step(10)]
    if late:
        return Doing(acts, blocked=False, stands=TRAIN.line(30, "recall"))
    return Doing([*acts, TRAIN.all("barrier", 20)])


def test_it_is_the_one_that_was_last_seen_at_work() -> None:
    (page, *_) = (rank.page for rank in threaded(job([doing(), doing()])).ranks)
    assert page is not None
    assert page.training_thread == page.pid + 500


def test_the_main_thread_trains_where_it_does_more_than_make_groups() -> None:
    # GIVEN a main thread whose last step is a while ago, and a thread of its metrics that reduces
    (page, *_) = (rank.page for rank in threaded(job([doing(), doing()]), others=(1, 2, 3, 4)).ranks)
    assert page is not None
    assert page.training_thread == page.pid
    assert _without_events(page).training_thread == page.pid


def _without_events(page: Page) -> Page:
    return replace(page, events=())


def test_a_rank_is_where_its_training_thread_is() -> None:
    report = examine(threaded(job([doing(), doing(late=True)])))
    assert [(rank.location.line if rank.location else None) for rank in report.ranks] == [20, 30]
    assert "recall" in report.ranks[1].label


def test_its_history_tells_where_a_rank_left_the_others() -> None:
    # GIVEN ranks that train in a thread of their own, of which one has a step less
    early = Doing([TRAIN.all("init_process_group", 3), *TRAIN.step(10), TRAIN.all("barrier", 20)])
    late = Doing([TRAIN.all("init_process_group", 3), *TRAIN.step(10), *TRAIN.step(10)])
    in_thread = threaded(job([late, early, late]))
    # WHEN it is examined, THEN it is the verdict that it would be in the main thread
    found, known = (examine(evidence).diagnoses[0] for evidence in (in_thread, job([late, early, late])))
    assert (found.code, found.culprits) == (known.code, known.culprits)
    assert found.culprits.members == (1,)
    assert [place.line for place in found.locations] == [place.line for place in known.locations]


def test_a_thread_that_has_returned_is_a_rank_that_has_finished() -> None:
    # GIVEN a rank whose process lives on in its framework's main loop, without the thread that trained
    evidence = threaded(job([doing(), doing(late=True)]))
    seen = evidence.ranks[1]
    assert seen.process is not None
    assert seen.stacks is not None
    threads = tuple(state for state in seen.process.threads if state.os_id == seen.worker.pid)
    gone = replace(
        seen,
        process=replace(seen.process, threads=threads),
        stacks=replace(seen.stacks, threads=seen.stacks.threads[:1]),
    )
    found = examine(replace(evidence, ranks=(evidence.ranks[0], gone))).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD252", (1,))
    assert "its training function" in found.summary


def _without_page(rank: RankEvidence, *more: Thread) -> RankEvidence:
    assert rank.stacks is not None
    return replace(rank, page=None, stacks=replace(rank.stacks, threads=(*rank.stacks.threads, *more)))


def test_without_a_page_it_is_the_one_that_runs_the_program() -> None:
    (rank, _) = threaded(job([doing(), doing()])).ranks
    watches = Thread(9, "Monitor", (SERVING,))
    found = frames.main_thread(_without_page(rank, watches))
    assert found is not None
    assert found.name == "TrainThread"


def test_without_a_page_the_main_thread_stands_for_a_rank_whose_program_runs_in_several() -> None:
    (rank, _) = threaded(job([doing(), doing()])).ranks
    assert rank.stacks is not None
    second = replace(rank.stacks.threads[1], os_id=9)
    found = frames.main_thread(_without_page(rank, second))
    assert found is not None
    assert found.name == "MainThread"
