"""Every collective with the way that leads to it."""

from __future__ import annotations

from ddpdoctor.lint.interpreter.machine import Root
from ddpdoctor.lint.ranks.reach import reached
from tests.unit.lint.traces import FIRST, branch, call, loop, op, unknown_condition


def test_calls_branches_and_loops_around_an_operation() -> None:
    barrier = op("barrier")
    turns = loop(unknown_condition(9), call(barrier))
    under = branch(FIRST, (turns,))
    (found,) = reached([Root("main", (under,), None)])
    inner = turns.body[0]
    assert found.op is barrier
    assert found.way == (inner.site, barrier.site)
    assert found.under == (under,)
    assert found.loops == ((turns, 0),)


def test_which_step_of_the_way_stands_in_some_lines() -> None:
    inner = call(op("barrier"))
    (found,) = reached([Root("main", (inner,), None)])
    line = inner.site.line
    assert found.within("/job/main.py", line, line) == 0
    assert found.within("/job/main.py", line + 1, line + 1) is None
    assert found.within("/job/other.py", line, line) is None


def test_all_roots_in_order() -> None:
    roots = [Root("a", (op("barrier"),), None), Root("b", (op("all_reduce"), op("broadcast")), None)]
    assert [r.op.op for r in reached(roots)] == ["barrier", "all_reduce", "broadcast"]
