"""Which variables count the turns of a loop, and how many turns a value means."""

from __future__ import annotations

import ast

import pytest

from ddpdoctor.program.turn_counters import LOOPS, Loop, TurnCounter, turn_counters


def counters(program: str) -> list[TurnCounter]:
    function = ast.parse(program).body[0]
    loop: Loop = next(node for node in ast.walk(function) if isinstance(node, LOOPS))
    return list(turn_counters(function, loop))


def of_head(head: str) -> list[TurnCounter]:
    return counters(f"def f():\n    {head}:\n        work()\n")


@pytest.mark.parametrize(
    ("head", "start", "step"),
    [
        ("for n in range(size)", 0, 1),
        ("for n in range(1, size)", 1, 1),
        ("for n in range(0, size, 4)", 0, 4),
        ("for n in range(9, -1, -3)", 9, -3),
        ("for n, x in enumerate(xs)", 0, 1),
        ("for n, (x, y) in enumerate(xs, 1)", 1, 1),
        ("for n, x in enumerate(xs, start=1)", 1, 1),
        ("for n, x in tqdm(enumerate(xs), total=9)", 0, 1),
        ("for n in tqdm(range(2, size))", 2, 1),
        ("for n, x in islice(enumerate(xs), 9)", 0, 1),
        ("for n, x in zip(range(size), xs)", 0, 1),
        ("for x, n in zip(xs, range(1, size), strict=False)", 1, 1),
        ("for n in itertools.count()", 0, 1),
        ("for n in itertools.count(5)", 5, 1),
    ],
)
def test_a_head_that_counts_from_a_number(head: str, start: int, step: int) -> None:
    assert of_head(head) == [TurnCounter("n", start, step)]
    (found,) = of_head(head)
    assert found.begun(start, 3) == found.after(start) == 1
    assert found.begun(start + 2 * step, 3) == 3
    assert found.begun(start - step, 3) is None


@pytest.mark.parametrize(
    "head",
    [
        "for n in range(rank, size)",
        "for n in range(0, size, world)",
        "for n, x in enumerate(xs, begun)",
        "for n, x in enumerate(xs, start=begun)",
        "for n in itertools.count(begun)",
        "for n in range(0, size, 0)",
        "for n in xs",
        "while True",
    ],
)
def test_a_head_that_may_count_differently_on_another_rank(head: str) -> None:
    assert of_head(head) == []


def test_a_value_between_two_turns_is_none_that_the_counter_has() -> None:
    assert TurnCounter("n", 0, 4).begun(6, 3) is None
    assert TurnCounter("n", 3, 1).begun(1, 3) is None


BODY = "def f():\n    n = 0\n    for x in xs:\n        {before}\n        n += 1\n        {after}\n    use(n)\n"


@pytest.mark.parametrize("after", ["pass", "if x: continue", "if x: break"])
def test_a_line_of_the_body_that_every_turn_passes(after: str) -> None:
    (found,) = counters(BODY.format(before="pass", after=after))
    assert found == TurnCounter("n", 0, 1, counts_at=5)
    # before the line the turn is begun and not counted, behind it it is
    assert (found.begun(3, 4), found.begun(3, 6), found.after(3)) == (4, 3, 3)


@pytest.mark.parametrize(
    ("before", "after"),
    [("if x: continue", "pass"), ("if x: break", "pass"), ("pass", "n = 0"), ("if x: return", "pass")],
)
def test_a_line_of_the_body_that_a_turn_may_leave_out(before: str, after: str) -> None:
    assert counters(BODY.format(before=before, after=after)) == []


@pytest.mark.parametrize("first", ["n = begun", "n = 0\n    n = 4", "pass"])
def test_a_count_in_the_body_begins_at_one_number(first: str) -> None:
    assert counters(BODY.replace("n = 0", first).format(before="pass", after="pass")) == []
