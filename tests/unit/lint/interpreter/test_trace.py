"""Trees of collectives."""

from __future__ import annotations

from ddpdoctor.lint.interpreter.trace import exits, leaving_through, operations, prune
from tests.unit.lint.traces import FIRST, asked, branch, call, leave, loop, op, unknown_condition

TURNS = unknown_condition(9)


def test_operations_in_source_order_with_the_calls_that_lead_there() -> None:
    one, two, three = op("a"), op("b"), op("c")
    inner = call(two)
    trace = (branch(FIRST, (one,), (inner,)), loop(TURNS, three))
    assert operations(trace) == [(one, ()), (two, (inner.site,)), (three, ())]


def test_what_leaves() -> None:
    assert exits((branch(FIRST, (leave("return"),)),))
    assert exits((loop(TURNS, leave("return")),))
    assert not exits((loop(TURNS, leave("break")),))
    assert not exits((call(leave("return")), leave("yield")))


def test_what_does_nothing_collective_is_dropped() -> None:
    barrier = op("barrier")
    question = asked("cache")
    assert prune([loop(TURNS), call(), branch(FIRST), barrier]) == (barrier,)
    assert prune([call(question)]) == (question,), "files are kept in mind"


def test_finally_runs_before_every_way_out() -> None:
    last = (op("barrier"),)
    out = leave("return")
    (head,) = leaving_through((branch(FIRST, (out,)),), last)
    assert head.then == (*last, out)  # type: ignore[union-attr]


def test_a_break_of_an_inner_loop_is_no_way_out() -> None:
    inner = loop(TURNS, leave("break"))
    assert leaving_through((inner, leave("return")), (op("barrier"),))[0] == inner
