"""Groups that only some ranks created."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.processes import Exit
from tests.unit.diagnose.builders import NOW, Act, At, Doing, job

AT = At()
PROGRAM = """\
def teams(rank):
    if rank in TEAM:
        dist.new_group(TEAM)
    dist.new_group()
"""


@pytest.mark.parametrize("odd", range(4))
def test_the_rank_that_did_not_come(odd: int) -> None:
    mine, common = AT.all("new_group", 3), AT.all("new_group", 4)
    member, stranger = Doing([mine, common]), Doing([common])
    report = examine(job([stranger if rank == odd else member for rank in range(4)], code={AT.file: PROGRAM}))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD219", (odd,), 3)
    assert "DD203" not in [d.code for d in report.diagnoses]


def test_half_of_the_ranks_create_one_alone() -> None:
    """As with any other call under a condition on the rank, those who made it are named; counting cannot tell."""
    mine, common = AT.all("new_group", 3), AT.all("new_group", 4)
    member, stranger = Doing([mine, common]), Doing([common])
    found = examine(job([stranger, stranger, member, member], code={AT.file: PROGRAM})).diagnoses[0]
    assert (found.code, found.culprits.members, found.culprit_confidence) == ("DD219", (2, 3), Confidence.POSSIBLE)
    assert (found.locations[0].line, found.locations[0].ranks.members) == (3, (2, 3))


def through(line: int, outer: int) -> Act:
    """A call of a helper of the program that makes groups where they are first asked for."""
    return replace(AT.all("new_group", line), path=(AT.line(line), AT.line(outer)))


@pytest.mark.parametrize("odd", range(3))
def test_a_group_more_from_the_same_helper(odd: int) -> None:
    more, fewer = Doing([through(3, 20), through(3, 30), through(3, 31)]), Doing([through(3, 20), through(3, 40)])
    report = examine(job([more if rank == odd else fewer for rank in range(3)]))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD219", (odd,), 30)
    assert f"rank {odd} called for 3 groups" in found.summary


STARTED = AT.all("init_process_group", 1)


def test_all_ranks_in_the_creation_of_different_groups() -> None:
    text = "if rank in members:\n    tp = dist.new_group(members)\nif rank < 2:\n    first = dist.new_group([0, 1])\n"
    places = [2, 4, 2]
    report = examine(job([Doing([STARTED, AT.all("new_group", line)]) for line in places], code={AT.file: text}))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD219", ())
    assert "`if rank in members:`" in found.fix


def of_own_pairs(*more: Act, creation: tuple[Act, ...] = (AT.all("new_group", 5),), uses: int = 1) -> Evidence:
    """Four ranks, each of which has made a group of itself and its neighbour, and is in a collective of it."""
    member = Doing([STARTED, *creation, *more, *[AT.all("all_reduce", 7, group="1")] * uses])
    stranger = Doing([STARTED])
    first = job([member, member, stranger, stranger], groups={"1": (0, 1)})
    second = job([stranger, stranger, member, member], groups={"1": (2, 3)})
    return replace(first, ranks=(*first.ranks[:2], *second.ranks[2:]))


def test_groups_of_one_name_with_other_members() -> None:
    report = examine(of_own_pairs())
    found = report.diagnoses[0]
    assert (found.code, found.confidence, found.culprits.members) == ("DD219", Confidence.LIKELY, ())
    assert (found.locations[0].line, found.locations[0].ranks.members) == (5, (0, 1, 2, 3))
    assert found.summary.startswith("group 1 has ranks 0-1 on ranks 0-1, and ranks 2-3 on ranks 2-3")


def test_who_has_left_such_a_group_is_not_to_blame() -> None:
    """Ranks that found each other by chance have come to their ends: nothing is certain of those that did not."""
    evidence = of_own_pairs()
    left = tuple(
        replace(seen, exit=Exit(seen.worker.pid, 0, NOW - 1)) if seen.rank in (1, 2) else seen
        for seen in evidence.ranks
    )
    report = examine(replace(evidence, ranks=left))
    assert "DD219" in [one.code for one in report.diagnoses]
    assert "DD252" not in [one.code for one in report.diagnoses]


@pytest.mark.parametrize(
    "evidence",
    [
        pytest.param(of_own_pairs(creation=(AT.all("split_group", 5),)), id="split off, each with one name"),
        pytest.param(of_own_pairs(STARTED), id="counted anew"),
        pytest.param(of_own_pairs(uses=2), id="used before"),
    ],
)
def test_names_that_say_nothing(evidence: Evidence) -> None:
    assert all("not all ranks have created the same" not in one.summary for one in examine(evidence).diagnoses)
