"""The same collectives in another order, or with another root."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Deadlock
from tests.unit.diagnose.builders import At, Doing, job, raised
from tests.unit.diagnose.verdicts import one_odd, verdict

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


STARTED = AT.all("init_process_group", 1)


NAMES = """\
for name in self.names:
    if name.startswith("al"):
        dist.broadcast(table[name], 0)
    else:
        dist.all_reduce(table[name])
"""


@pytest.mark.parametrize("test", ['name.startswith("al")', "name == self.FIRST", "name in FIRST"])
def test_elements_in_another_order(test: str) -> None:
    # GIVEN a set's elements, whose order differs between processes, and a condition on nothing but the element
    reduce = AT.all("all_reduce", 5)
    odd, usual = Doing([STARTED, reduce, AT.broadcast(3, 0)]), Doing([STARTED, reduce, reduce])
    found = verdict(NAMES.replace('name.startswith("al")', test), one_odd(odd, usual))
    assert found.code == "DD213"


HOOKS = """\
def datum(state):
    dist.all_reduce(state.datum)

def level(state):
    dist.all_gather(state.levels, state.level)

def fire(state):
    for hook in state.hooks:
        hook(state)
"""


@pytest.mark.parametrize("known", [True, False], ids=["in use before", "never run here"])
def test_hooks_that_one_loop_calls(known: bool) -> None:
    """A hook that ran before is most likely only later; one that this rank has never run is not there."""
    fires = (AT.line(9, "fire"), AT.line(20, "main"))
    datum = replace(AT.all("all_reduce", 2, function="datum"), path=(AT.line(2, "datum"), *fires))
    level = replace(AT.all("all_gather", 5, function="level"), path=(AT.line(5, "level"), *fires))
    step = AT.step(12)
    both = [*step, datum, level]
    usual = Doing([*both * 2, *step, datum], callers=fires)
    before = both * 2 if known else [*step, level] * 2
    odd = Doing([*before, *step, level], callers=fires)
    found = examine(job([usual, odd, usual], code={AT.file: HOOKS})).diagnoses[0]
    assert (found.code == "DD213") is known
    assert not known or found.culprits.members == (1,)


MEASURES = """\
def score(loaders):
    for name, loader in sorted(loaders.items(), key=size):
        scores[name] = measures[name](loader)


def accuracy(loader):
    for batch in loader:
        model(batch)
    dist.all_reduce(right)


def error(loader):
    for batch in loader:
        model(batch)
    dist.all_gather(errors, worst)
"""


def test_a_table_of_functions_that_go_over_loaders_of_their_own() -> None:
    """The first steps that differ are batches, and what is in another order are the collectives after them."""
    way = (AT.line(3, "score"),)
    accuracy = [
        *[replace(act, path=(act.site, *way)) for act in (AT.next(7), AT.forward(8)) * 3],
        replace(AT.all("all_reduce", 9, function="accuracy"), path=(AT.line(9, "accuracy"), *way)),
    ]
    error = [
        *[replace(act, path=(act.site, *way)) for act in (AT.next(13), AT.forward(14)) * 3],
        replace(AT.all("all_gather", 15, function="error"), path=(AT.line(15, "error"), *way)),
    ]
    usual, odd = Doing([*accuracy, *error, *accuracy], callers=way), Doing([*accuracy, *error, *error], callers=way)
    found = verdict(MEASURES, one_odd(odd, usual))
    assert (found.code, found.culprits.members) == ("DD213", (1,))


@pytest.mark.parametrize(
    ("before", "order"),
    [
        ("gr r gr r", False),  # what it computes where it has not kept it
        ("gr gr gr", True),  # always both: now one of them may be first
        ("gr rg gr", True),
    ],
)
def test_a_call_that_always_led_in_to_another_was_made_more(before: str, order: bool) -> None:
    calls = {"g": AT.all("all_gather", 3, function="prefill"), "r": AT.all("all_reduce", 7, function="read")}
    done = [act for turn in before.split() for act in (*(calls[name] for name in turn), AT.update(12))]
    usual, odd = Doing([*done, calls["r"]]), Doing([*done, calls["g"]])
    report = examine(job([usual, odd, usual]))
    assert ("DD213" in [one.code for one in report.diagnoses]) is order


BEST = """\
for batch in loader:
    dist.all_reduce(flat)
    if loss.item() < best:
        dist.all_reduce(total)
"""


@pytest.mark.parametrize(("size", "code"), [(1, "DD206"), (4, "DD251")])
def test_the_same_operation_of_another_line(size: int, code: str) -> None:
    # GIVEN gloo's abort of a rank that entered an all_reduce of its own, where the other reduces another tensor
    flat, total = AT.all("all_reduce", 2), replace(AT.all("all_reduce", 4), elements=size)
    lost = raised("RuntimeError", "Connection reset by peer", 60.0, AT.line(2))
    usual = Doing([flat] * 6, exit_status=1, raised=lost)
    alone = Doing([*[flat] * 5, total], exit_status=-6)
    report = examine(job([alone, usual], code={AT.file: BEST}))
    assert report.diagnoses[0].code == code
