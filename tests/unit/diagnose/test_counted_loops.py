"""Loops that are compared turn by turn: those whose end their counter alone decides."""

from __future__ import annotations

import pytest

from ddpdoctor.diagnose.counted_loops import CountedLoop, loop_around
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.stacks import Site

FILE = "/job/train.py"
PROGRAM = """\
def average(weights):
    {average}


def train(model, stream):
    {head}
        {before}
        average(model, rows.draw(n))
        {after}
"""


def found(
    head: str, before: str = "work()", after: str = "log()", average: str = "all_reduce(weights)"
) -> CountedLoop | None:
    text = PROGRAM.format(head=head, before=before, after=after, average=average)
    lines = text.splitlines()
    calls = (next(n for n, line in enumerate(lines, 1) if mark in line) for mark in ("all_reduce", "average(model,"))
    path = tuple(Site(FILE, line, name) for line, name in zip(calls, ("average", "train"), strict=True))
    return loop_around({FILE: SourceFile(FILE, text)}, path)


@pytest.mark.parametrize(
    "head",
    ["for n in range(9):", "for n, x in enumerate(stream, 1):", "for n, x in zip(range(9), stream):"],
)
def test_a_loop_over_numbers_is_counted(head: str) -> None:
    loop = found(head)
    assert loop is not None
    assert (loop.head.line, loop.counter.name, [mark.site.line for mark in loop.way]) == (6, "n", [8, 2])


@pytest.mark.parametrize(
    ("head", "before", "after", "average"),
    [
        ("for x in stream:", "work()", "log()", "all_reduce(weights)"),
        ("while n < 9:", "work()", "n += 1", "all_reduce(weights)"),
        # it may go over as many as it needs
        ("for n, x in enumerate(stream):", "work()", "if done == 9: break", "all_reduce(weights)"),
        ("for n, x in enumerate(stream):", "if x is None: return", "log()", "all_reduce(weights)"),
        ("for n in range(rank, 9):", "work()", "log()", "all_reduce(weights)"),
    ],
)
def test_other_loops_are_not_compared(head: str, before: str, after: str, average: str) -> None:
    assert found(head, before, after, average) is None


@pytest.mark.parametrize("average", ["for w in weights: all_reduce(w)", "[all_reduce(w) for w in weights]"])
def test_in_an_inner_loop_around_the_call_it_is_not_known_what_is_still_to_come(average: str) -> None:
    loop = found("for n in range(9):", average=average)
    assert loop is not None
    places = [(7, "train"), (9, "train"), (8, "train"), (2, "average")]
    comes = [loop.comes_to_it([Site(FILE, *place)]) for place in places[:2]]
    assert (*comes, loop.comes_to_it([Site(FILE, *place) for place in places[2:]])) == (True, False, None)


def test_a_file_that_was_changed_says_nothing() -> None:
    text = PROGRAM.format(head="for n in range(9):", before="work()", after="log()", average="all_reduce(weights)")
    path = (Site(FILE, 2, "average"), Site(FILE, 8, "train"))
    assert loop_around({FILE: SourceFile(FILE, text)}, path) is not None
    assert loop_around({FILE: SourceFile(FILE, text, changed=True)}, path) is None


def test_a_break_of_another_loop_leaves_it_alone() -> None:
    assert found("for n in range(9):", "while True: break") is not None


@pytest.mark.parametrize(
    ("lines", "comes"),
    [
        ([(6, "train")], False),  # the head takes the next element
        ([(7, "train")], True),
        ([(9, "train")], False),
        ([(8, "train"), (2, "average")], None),
        ([(8, "train"), (1, "Stream.average")], True),
        ([(8, "train"), (1, "other")], None),
        # what the line calls for an argument is before the call
        ([(8, "train"), (40, "draw"), (1, "average")], True),
    ],
)
def test_where_a_rank_is_in_its_turn(lines: list[tuple[int, str]], comes: bool | None) -> None:
    loop = found("for n in range(9):")
    assert loop is not None
    assert loop.comes_to_it([Site(FILE, line, name) for line, name in lines]) is comes


@pytest.mark.parametrize(
    ("before", "lines"),
    [
        ("if bad(x): continue", [7]),
        ("work()", []),
        ("for y in x: continue", []),
    ],
)
def test_where_a_turn_comes_past_the_call(before: str, lines: list[int]) -> None:
    loop = found("for n, x in enumerate(stream):", before)
    assert loop is not None
    assert [site.line for site in loop.passes] == lines
