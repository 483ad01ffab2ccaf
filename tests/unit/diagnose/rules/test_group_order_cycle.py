"""Groups whose collectives the ranks enter in a different order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from tests.unit.diagnose.builders import Act, At, Doing, job

AT = At()


def _in_order(group: str) -> list[Act]:
    other = {"g": "d", "d": "g"}[group]
    return [AT.all("all_reduce", 9, group=name) for name in (group, other)]


LOOP = """\
def train(first, second):
    for step in range(100):
        ahead, behind = first, second
        if step % 7 == 3:
            ahead, behind = second, first
        for player in {players}:
            {way}
            flat = player.grads()
            dist.all_reduce(flat, group=player.group)
"""


@pytest.mark.parametrize("odd", range(3))
@pytest.mark.parametrize(
    ("players", "way", "confidence"),
    [
        ("(ahead, behind)", "pass", Confidence.CERTAIN),
        ("(ahead, behind)", "if not player.grads(): continue", Confidence.LIKELY),
        ("(ahead, behind)", "if not player.grads(): break", Confidence.LIKELY),
        ("chosen(ahead, behind)", "pass", Confidence.LIKELY),
    ],
)
def test_groups_in_another_order(odd: int, players: str, way: str, confidence: Confidence) -> None:
    """Only a loop that can leave nothing out shows that the rank would enter the other group afterwards."""
    groups = {"g": range(3), "d": range(3)}
    usual = Doing([*_in_order("g"), AT.all("all_reduce", 9, group="g")])
    swapped = Doing([*_in_order("g"), AT.all("all_reduce", 9, group="d")])
    code = {AT.file: LOOP.format(players=players, way=way)}
    report = examine(job([swapped if rank == odd else usual for rank in range(3)], groups=groups, code=code))
    found = report.diagnoses[0]
    assert (found.code, found.confidence) == ("DD220", confidence)
    assert found.culprits.members == (odd,)


def test_not_certain_without_source() -> None:
    """A rank that left a call of the first group out waits in the second one as well."""
    groups = {"g": range(3), "d": range(3)}
    usual = Doing([*_in_order("g"), AT.all("all_reduce", 9, group="g")])
    swapped = Doing([*_in_order("g"), AT.all("all_reduce", 9, group="d")])
    found = examine(job([usual, swapped, usual], groups=groups)).diagnoses[0]
    assert (found.code, found.confidence) == ("DD220", Confidence.LIKELY)


STEPS = """\
class CriticStep:
    def __call__(self, real):
        loss = self.critic(real)
        if not loss.isfinite():
            return None
        loss.backward()
        dist.all_reduce(self.grad, group=self.group)


class GeneratorStep:
    def __call__(self, noise):
        self.generator(noise).backward()
        dist.all_reduce(self.grad, group=self.group)


def train(critic, generator):
    step_c = CriticStep(critic)
    step_g = GeneratorStep(generator)
    for real, noise in data():
        step_c(real)
        step_g(noise)
"""


def test_a_skipped_backward_is_no_order() -> None:
    """One rank's guard left the critic's backward out; the groups are used in one order everywhere."""
    critic = [AT.backward(6), AT.all("all_reduce", 7, group="c", function="__call__")]
    generator = [AT.backward(12), AT.all("all_reduce", 13, group="g", function="__call__")]
    whole = [*critic, *generator]
    usual = Doing([*whole, *whole, *critic], callers=(AT.line(20),))
    skips = Doing([*whole, *whole, *generator], callers=(AT.line(21),))
    groups = {"c": range(3), "g": range(3)}
    report = examine(job([usual, skips, usual], groups=groups, code={AT.file: STEPS}))
    found = report.diagnoses[0]
    assert (found.code, found.confidence, found.culprits.members) == ("DD207", Confidence.LIKELY, (1,))
    assert found.locations[0].line == 5
    assert "DD220" not in {one.code for one in report.diagnoses}


def test_cycle_through_many_groups_blames_nobody() -> None:
    groups = {"t0": (0, 1), "t1": (2, 3), "d0": (0, 2), "d1": (1, 3)}
    names = ["t0", "d1", "d0", "t1"]
    report = examine(job([Doing([AT.all("all_reduce", 3, group=name)]) for name in names], groups=groups))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD220", ())
    assert "4 process groups" in found.summary


RING = {"ab": (0, 1), "bc": (1, 2), "ca": (0, 2)}
#: the groups of each rank, by number
ROADS = (("ab", "ca"), ("ab", "bc"), ("bc", "ca"))


def _round(rank: int, *, turned: bool = False) -> list[Act]:
    return [AT.all("all_reduce", 3, group=name) for name in (ROADS[rank][::-1] if turned else ROADS[rank])]


@pytest.mark.parametrize(("rounds", "culprits"), [(4, (0,)), (1, ())])
def test_the_rank_that_changed_its_own_order_closed_the_cycle(rounds: int, culprits: tuple[int, ...]) -> None:
    ranks = [Doing([*_round(rank) * rounds, _round(rank, turned=rank == 0)[0]]) for rank in range(3)]
    found = examine(job(ranks, groups=RING)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD220", culprits)


def test_a_group_that_closes_the_ring_only_now_is_no_change_of_order() -> None:
    """On a chain each rank waits for the one below first; once the ends are connected, that is a cycle."""
    chain = [["ab"], ["ab", "bc"], ["bc"]]
    acts = [[AT.all("all_reduce", 3, group=name) for name in names] * 4 for names in chain]
    now = ["ca", "ab", "bc"]
    ranks = [Doing([*before, AT.all("all_reduce", 3, group=name)]) for before, name in zip(acts, now, strict=True)]
    found = examine(job(ranks, groups=RING)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD220", ())


def test_orders_that_always_change_blame_nobody() -> None:
    before = [act for turned in (False, True, False, True) for act in _round(0, turned=turned)]
    ranks = [
        Doing([*before, _round(0, turned=True)[0]]),
        *(Doing([*_round(rank) * 4, _round(rank)[0]]) for rank in (1, 2)),
    ]
    found = examine(job(ranks, groups=RING)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD220", ())


ONCE_A_ROUND = """\
class Returns:
    def observe(self, value):
        self.fresh.append(value)
        if len(self.fresh) == self.room and not self.merged:
            self.merge()

    def merge(self):
        dist.all_reduce(self.sums, group=self.group)
        {sets}


def learn(returns):
    loss.backward()
    dist.all_reduce(flat, group=learners)


def run(returns):
    while True:
        returns.observe(play())
        learn(returns)
        if not returns.merged:
            returns.merge()
"""


def _merges(*callers: tuple[int, str]) -> Act:
    act = AT.all("all_reduce", 8, group="statistics", function="merge")
    return replace(act, path=(act.site, *(AT.line(*caller) for caller in callers)))


def _learns(act: Act) -> Act:
    site = replace(act.site, function="learn")
    return replace(act, site=site, path=(site, AT.line(20, "run")))


@pytest.mark.parametrize(
    ("sets", "codes"), [("self.merged = True", {"DD220"}), ("self.count += 1", {"DD203", "DD206"})]
)
def test_a_call_made_early_comes_once_a_round_only_where_it_says_so(sets: str, codes: set[str]) -> None:
    # GIVEN a job without wrapped models, whose backwards are counted and whose forwards are not
    late, early = _merges((22, "run")), _merges((5, "observe"), (19, "run"))
    learns = [_learns(AT.backward(13)), _learns(AT.all("all_reduce", 14, group="learners"))]
    usual = Doing([*[*learns, late] * 3, *learns], callers=learns[1].path[1:])
    odd = Doing([*[*learns, late] * 3, early], callers=early.path[1:])
    groups = {"statistics": range(3), "learners": range(3)}
    found = examine(job([usual, odd, usual], groups=groups, code={AT.file: ONCE_A_ROUND.format(sets=sets)})).diagnoses[
        0
    ]
    # THEN nothing is skipped, and nothing is certain
    assert found.code in codes
    assert (found.culprits.members, found.confidence) == ((1,), Confidence.LIKELY)


def test_a_rank_that_is_in_one_of_the_groups_only_has_no_order() -> None:
    groups = {"upper": (0, 1, 2), "lower": (1, 2, 3)}
    upper, lower = (AT.all("all_reduce", 27, group=name) for name in ("upper", "lower"))
    both = [upper, lower]
    ranks = [
        Doing([*[upper] * 4, upper]),
        Doing([*both * 4, upper]),
        Doing([*both * 4, lower]),  # it has turned the order round
        Doing([*[lower] * 4, lower]),
    ]
    found = examine(job(ranks, groups=groups)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD220", (2,))
