"""Going through a trace: every node in source order, with the calls, branches and loops that it stands in."""

from __future__ import annotations

from ddpdoctor.lint.interpreter.trace import (
    BlockExit,
    Branch,
    FileEvent,
    Loop,
    Op,
    Scope,
    operates,
    operations,
    prune,
    steps,
)
from ddpdoctor.program.sites import SourceSite


def site(line: int) -> SourceSite:
    return SourceSite("train.py", line, 1, line, 1)


def op(line: int, name: str = "barrier") -> Op:
    return Op(name, None, site(line))


INNER = Branch((True,), (op(4),), (op(5), BlockExit("return", site(6))), site(3), "x", 0)
LOOP = Loop((2,), (INNER, op(7)), site(2))
CALL = Scope("helper", (LOOP,), site(10))
OUTER = Loop((3,), (CALL, op(11)), site(9))


def test_nodes_come_in_source_order_each_behind_what_it_stands_in() -> None:
    assert [node for node, *_ in steps((op(1), OUTER))] == [
        op(1), OUTER, CALL, LOOP, INNER, op(4), op(5), BlockExit("return", site(6)), op(7), op(11),
    ]  # fmt: skip


def test_a_step_knows_its_calls_branches_and_loops() -> None:
    found = {node.site.line: way for node, *way in steps((OUTER,)) if isinstance(node, Op)}
    assert found[4] == found[5] == [(site(10),), (INNER,), ((OUTER, 0), (LOOP, 1))]
    assert found[7] == [(site(10),), (), ((OUTER, 0), (LOOP, 1))]
    assert found[11] == [(), (), ((OUTER, 0),)]


def test_operations_are_told_with_the_calls_that_lead_to_them() -> None:
    assert operations((OUTER,)) == [(op(n), (site(10),)) for n in (4, 5, 7)] + [(op(11), ())]
    assert operates((OUTER,))
    assert not operates((BlockExit("break", site(1)),))


def test_a_trace_of_any_depth_is_gone_through() -> None:
    deep = op(1)
    node: Scope | Op = deep
    for _ in range(5_000):
        node = Scope("f", (node,), site(2))
    assert operates((node,))


def test_calls_without_operations_leave_their_files_alone() -> None:
    asked = FileEvent("asked", "path", "file", site(3))
    assert prune([Scope("f", (asked, asked), site(2)), Loop((1,), (), site(4)), op(5)]) == (asked, op(5))
