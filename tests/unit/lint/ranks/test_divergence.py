"""How a message shows two sequences."""

from __future__ import annotations

import pytest

from ddpdoctor.lint.interpreter.trace import Node
from ddpdoctor.lint.ranks import divergence
from ddpdoctor.lint.ranks.compare import divergences
from ddpdoctor.lint.ranks.residual import Builder, flat
from tests.unit.lint.traces import FIRST, branch, call, leave, loop, op, unknown_condition

SOME = unknown_condition(1)


@pytest.mark.parametrize(
    ("trace", "names"),
    [
        ((op("barrier"), op("all_reduce")), ("barrier", "all_reduce")),
        ((loop(SOME, op("barrier")),), ("loop(barrier)",)),
        ((branch(SOME, (op("barrier"),)),), ("(barrier | nothing)",)),
        ((loop(SOME, op("barrier"), branch(SOME, (leave("break"),))),), ("loop(barrier, (break | nothing))",)),
    ],
)
def test_names(trace: tuple[Node, ...], names: tuple[str, ...]) -> None:
    assert divergence.names(flat(Builder().build(trace, 0, 1))) == names


@pytest.mark.parametrize(
    ("one", "two", "shown"),
    [
        ((), ("a",), ("nothing", "a")),
        (("a",) * 6, (), ("a, a, a, a, a, a", "nothing")),
        (("a",) * 7, (), ("a, a, a, a, a, a, ...", "nothing")),
        (("a",) * 9, ("a",) * 8, ("..., a, a", "..., a")),
        (("a",) * 8 + ("b",), ("a",) * 8 + ("c",), ("..., a, b", "..., a, c")),
    ],
)
def test_long_sequences_are_cut_where_they_are_equal(
    one: tuple[str, ...], two: tuple[str, ...], shown: tuple[str, str]
) -> None:
    assert divergence.both_shown(one, two) == shown


def test_a_long_part_is_shown_where_it_differs() -> None:
    one, two = divergence.both_shown(("x" * 200 + "one" + "y" * 99,), ("x" * 200 + "two" + "y" * 99,))
    assert one != two
    assert "one" in one
    assert "two" in two
    assert len(one) == divergence.LONGEST + 6


def test_the_place_is_the_call_under_the_branch() -> None:
    inner = call(op("barrier"))
    head = branch(FIRST, (inner,))
    head = head._replace(site=inner.site._replace(end_line=inner.site.line + 2))
    (found,) = divergences((head,))
    assert divergence.place(found) == inner.site


def test_the_place_is_the_branch_where_the_operation_stands_elsewhere() -> None:
    head = branch(FIRST, (leave("return"),))
    (found,) = divergences((head, op("barrier")))
    assert divergence.place(found) == head.site
