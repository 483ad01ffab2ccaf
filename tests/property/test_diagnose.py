"""Properties of every verdict: invariant under renaming of ranks and code; less evidence is never more certain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Diagnosis, Outcome
from ddpdoctor.model.evidence import Evidence, Gap, RankEvidence, Source
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.report import Report
from tests.property.renaming import renamed
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import Act, At, Doing, job

#: what the odd rank did -> the codes that may be named with any certainty
TRUTHS: dict[str, tuple[Callable[[], Doing], frozenset[str]]] = {
    "ran_out": (stories.ran_out, frozenset({"DD201"})),
    "left_early": (stories.left_early, frozenset({"DD206"})),
    "skipped": (stories.skipped, frozenset({"DD207"})),
    "skipped_forward": (stories.skipped_forward, frozenset({"DD207"})),
    "without_sync": (stories.without_sync, frozenset({"DD217"})),
    "saves_alone": (stories.saves_alone, frozenset({"DD203"})),
}
#: takes one source away from a rank
STRIPS: dict[str, Callable[[RankEvidence], RankEvidence]] = {
    "pages": lambda seen: replace(seen, page=None),
    "recorder": lambda seen: replace(seen, recorder=None),
    "stacks": lambda seen: replace(seen, stacks=None),
    "processes": lambda seen: replace(seen, process=None),
    "motion": lambda seen: replace(seen, motion=None),
    "history": lambda seen: replace(
        seen, page=replace(seen.page, events=(), events_lost=len(seen.page.events)) if seen.page else None
    ),
}
ORDER = [Confidence.POSSIBLE, Confidence.LIKELY, Confidence.CERTAIN]

truths = st.sampled_from(sorted(TRUTHS))
sizes = st.integers(2, 6)


def places(size: int, odd: int) -> list[bool]:
    return [rank == odd % size for rank in range(size)]


def examined(name: str, size: int, odd: int) -> tuple[Evidence, Report]:
    evidence = stories.among(size, odd % size, TRUTHS[name][0])
    return evidence, examine(evidence)


def shape(diagnosis: Diagnosis) -> tuple[object, ...]:
    return diagnosis.code, diagnosis.confidence, diagnosis.culprit_confidence


@given(name=truths, size=sizes, one=st.integers(0, 5), other=st.integers(0, 5))
def test_permuting_ranks_permutes_culprits(name: str, size: int, one: int, other: int) -> None:
    (_, first), (_, second) = examined(name, size, one), examined(name, size, other)
    assert [shape(d) for d in first.diagnoses] == [shape(d) for d in second.diagnoses]
    swap = {one % size: other % size, other % size: one % size}
    for before, after in zip(first.diagnoses, second.diagnoses, strict=True):
        assert {swap.get(r, r) for r in before.culprits} == set(after.culprits)
        assert {swap.get(r, r) for r in before.waiting} == set(after.waiting)


@given(
    name=truths,
    size=sizes,
    odd=st.integers(0, 5),
    strip=st.sampled_from(sorted(STRIPS)),
    from_all=st.booleans(),
    whom=st.integers(0, 5),
    code=st.booleans(),
)
def test_less_evidence_is_never_more_certain(
    name: str, size: int, odd: int, strip: str, from_all: bool, whom: int, code: bool
) -> None:
    # GIVEN a verdict WHEN a source is taken from one rank or from all
    evidence, full = examined(name, size, odd)
    ranks = tuple(STRIPS[strip](r) if from_all or r.rank == whom % size else r for r in evidence.ranks)
    poorer = examine(replace(evidence, ranks=ranks, code=evidence.code if code else {}))
    # THEN nothing wrong is ever said with certainty, and nothing true with more certainty than before
    known = {d.code: ORDER.index(d.confidence) for d in full.diagnoses}
    for diagnosis in poorer.diagnoses:
        if diagnosis.confidence is Confidence.CERTAIN:
            assert diagnosis.code in TRUTHS[name][1]
            assert diagnosis.culprits.members == (odd % size,)
        if diagnosis.code in known:
            assert ORDER.index(diagnosis.confidence) <= known[diagnosis.code]
    if full.deadlock is not Deadlock.PROVEN:
        assert poorer.deadlock is not Deadlock.PROVEN


@given(name=truths, size=sizes, odd=st.integers(0, 5), file=st.sampled_from(["/x/a.py", "/y/rank_zero/uneven.py"]))
def test_names_of_files_do_not_change_the_verdict(name: str, size: int, odd: int, file: str) -> None:
    evidence, report = examined(name, size, odd)
    renamed = job(
        [_moved(stories_doing, file) for stories_doing in _doings(name, size, odd)],
        code={file: stories.PROGRAM},
    )
    assert evidence.world_size == renamed.world_size
    assert [shape(d) for d in examine(renamed).diagnoses] == [shape(d) for d in report.diagnoses]


def _doings(name: str, size: int, odd: int) -> list[Doing]:
    return [TRUTHS[name][0]() if here else stories.in_backward(4) for here in places(size, odd)]


def _moved(doing: Doing, file: str) -> Doing:
    acts = [replace(act, site=replace(act.site, file=file)) for act in doing.acts]
    return replace(doing, acts=acts, callers=tuple(replace(site, file=file) for site in doing.callers))


AT = At()
acts = st.sampled_from(
    [
        AT.next(10),
        AT.stop(10),
        AT.forward(11),
        AT.backward(12),
        AT.update(13),
        AT.all("barrier", 21),
        AT.all("all_reduce", 22),
        AT.all("all_reduce", 23, group="pair"),
        AT.broadcast(24, 0),
        AT.recv(25, 0),
        AT.recv(26, None),
    ]
)
conditions = st.sampled_from(["blocked", "working", "still", "stopped", "exited", "died"])


@st.composite
def doings(draw: st.DrawFn) -> Doing:
    """Anything that a rank may have done, in any condition."""
    done: list[Act] = draw(st.lists(acts, max_size=12))
    match draw(conditions):
        case "blocked":
            blocking = bool(done) and done[-1].kind in (EventKind.CALL, EventKind.BACKWARD)
            return Doing(done, blocked=blocking, stands=AT.line(5))
        case "working":
            return Doing(done, blocked=False, stands=AT.line(5), state="R", cpu_share=1.0, moves=True)
        case "stopped":
            return Doing(done, blocked=False, stands=AT.line(5), state="T")
        case "exited":
            return Doing(done, blocked=False, exit_status=0)
        case "died":
            return Doing(done, blocked=False, exit_status=-9)
    return Doing(done, blocked=False, stands=AT.line(5))


@st.composite
def kindred(draw: st.DrawFn) -> list[Doing]:
    """Ranks that have done the same but for an act or the end, as those of a job: of them sides are made."""
    common = draw(doings()).acts
    ranks = []
    for _ in range(draw(st.integers(2, 5))):
        done = list(common)
        at, instead = draw(st.integers(0, len(done))), draw(st.none() | acts)
        match draw(st.sampled_from(["all", "all", "until", "but"])):
            case "until":
                done = done[:at]
            case "but":
                done[at : at + 1] = [instead] if instead else []
        ranks.append(replace(draw(doings()), acts=done))
    return ranks


@given(ranks=st.lists(doings(), min_size=2, max_size=4))
def test_any_evidence_gives_a_report_that_agrees_with_itself(ranks: list[Doing]) -> None:
    evidence = job(ranks, groups={"pair": range(len(ranks))}, code=stories.CODE)
    report = examine(evidence)
    assert [status.rank for status in report.ranks] == list(range(len(ranks)))
    assert (report.outcome is Outcome.HEALTHY) <= (not report.diagnoses)
    assert (report.deadlock is Deadlock.NO) or report.outcome is Outcome.HANG
    order = [ORDER.index(diagnosis.confidence) for diagnosis in report.diagnoses]
    assert order == sorted(order, reverse=True)
    for diagnosis in report.diagnoses:
        assert "\n" not in diagnosis.summary
        assert set(diagnosis.culprits).isdisjoint(diagnosis.waiting)
    if any(doing.state == "R" for doing in ranks) and report.deadlock is Deadlock.PROVEN:
        # only ranks that do not need the working one may be proven stuck
        assert report.outcome is Outcome.HANG


@given(ranks=st.lists(doings(), min_size=2, max_size=5) | kindred(), data=st.data())
def test_names_of_ranks_do_not_change_the_verdict(ranks: list[Doing], data: st.DataObject) -> None:
    """Wherever a rank is named: in the groups' members, as peer of a message, as root of a broadcast."""
    to = dict(enumerate(data.draw(st.permutations(range(len(ranks))))))
    evidence = job(ranks, groups={"pair": range(len(ranks))}, code=stories.CODE)
    before, after = examine(evidence), examine(renamed(evidence, to))
    assert _verdict(after) == _verdict(before, to)


def _verdict(report: Report, to: Mapping[int, int] | None = None) -> tuple[object, ...]:
    """What it says, in the ranks' new names; diagnoses of equal confidence stand in no order that counts."""
    named = to or {status.rank: status.rank for status in report.ranks}
    found = ((shape(one), tuple(sorted(named[rank] for rank in one.culprits))) for one in report.diagnoses)
    return report.outcome, report.deadlock, sorted(map(repr, found))


@given(ranks=st.lists(doings(), min_size=2, max_size=5) | kindred(), data=st.data())
def test_the_order_of_the_evidence_does_not_change_the_verdict(ranks: list[Doing], data: st.DataObject) -> None:
    evidence = job(ranks, groups={"pair": range(len(ranks))}, code=stories.CODE)
    shuffled = replace(evidence, ranks=tuple(data.draw(st.permutations(evidence.ranks))))
    assert _verdict(examine(shuffled)) == _verdict(examine(evidence))


#: what a source is called in a gap
SOURCES = {"pages": Source.PAGES, "recorder": Source.RECORDER, "stacks": Source.STACKS, "processes": Source.PROCESSES}


@given(
    ranks=st.lists(doings(), min_size=2, max_size=4), taken=st.sets(st.sampled_from(sorted(SOURCES))), whom=st.data()
)
def test_a_gap_in_place_of_evidence_proves_nothing(ranks: list[Doing], taken: set[str], whom: st.DataObject) -> None:
    """What could not be seen makes nothing certain, and proves no deadlock, that was not so with it."""
    evidence = job(ranks, groups={"pair": range(len(ranks))}, code=stories.CODE)
    blind = whom.draw(st.sets(st.integers(0, len(ranks) - 1), min_size=1))
    poorer = list(evidence.ranks)
    for name in sorted(taken):
        poorer = [STRIPS[name](seen) if seen.rank in blind else seen for seen in poorer]
    gaps = tuple(Gap(SOURCES[name], Rank(rank), "not permitted") for name in sorted(taken) for rank in sorted(blind))
    with_all, without = examine(evidence), examine(replace(evidence, ranks=tuple(poorer), gaps=gaps))
    assert _certain(without) <= _certain(with_all)
    assert without.deadlock is not Deadlock.PROVEN or with_all.deadlock is Deadlock.PROVEN


def _certain(report: Report) -> set[tuple[str, tuple[int, ...]]]:
    return {(one.code, one.culprits.members) for one in report.diagnoses if one.confidence is Confidence.CERTAIN}


@given(most=doings(), odd=doings(), size=st.integers(3, 4), more=st.integers(1, 4))
def test_more_ranks_that_do_as_the_most_do_change_nothing(most: Doing, odd: Doing, size: int, more: int) -> None:
    def verdict(ranks: int) -> tuple[object, ...]:
        doing = [most, odd, *[most] * (ranks - 2)]
        report = examine(job(doing, groups={"pair": range(ranks)}, code=stories.CODE))
        blamed = [(shape(one), {rank == 1 for rank in one.culprits}) for one in report.diagnoses]
        return report.outcome, report.deadlock, sorted(map(repr, blamed))

    assert verdict(size + more) == verdict(size)
