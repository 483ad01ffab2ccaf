"""The trace of one rank: branches on the rank decided, cells of one number where all that follows is equal."""

from __future__ import annotations

from ddpdoctor.lint.interpreter.trace import Op, Trace
from ddpdoctor.lint.ranks.residual import Builder, Cell, flat, has_op, walk
from tests.unit.lint.traces import FIRST, branch, call, leave, loop, op, unknown_condition

SOME = unknown_condition(1)


def residuals(*trace: object, ranks: tuple[int, int] = (0, 1)) -> tuple[Cell | None, Cell | None]:
    builder = Builder()
    nodes: Trace = trace  # type: ignore[assignment]
    return builder.build(nodes, *ranks), builder.build(nodes, *ranks[::-1])


def ops(cell: Cell | None) -> list[str]:
    return [c.step.op for c in flat(cell) if isinstance(c.step, Op)]


def equal(*trace: object, ranks: tuple[int, int] = (0, 1)) -> bool:
    one, two = residuals(*trace, ranks=ranks)
    return (one and one.number) == (two and two.number)


def test_a_branch_on_the_rank_is_decided() -> None:
    one, two = residuals(branch(FIRST, (op("barrier"),), (op("broadcast"),)), op("all_reduce"))
    assert ops(one) == ["barrier", "all_reduce"]
    assert ops(two) == ["broadcast", "all_reduce"]


def test_the_same_operations_on_both_sides_are_equal() -> None:
    assert equal(branch(FIRST, (op("barrier"),), (op("barrier"),)))
    assert not equal(branch(FIRST, (op("barrier"),), (op("broadcast"),)))


def test_a_group_without_one_of_the_two_is_left_out() -> None:
    assert equal(branch(FIRST, (op("all_reduce", (0, 2)),)))
    assert not equal(branch(FIRST, (op("all_reduce", (0, 1)),)))


def test_a_return_replaces_the_rest_of_its_call() -> None:
    one, two = residuals(call(branch(FIRST, (leave("return"),)), op("barrier")), op("all_reduce"))
    assert ops(one) == ["all_reduce"]
    assert ops(two) == ["barrier", "all_reduce"]


def test_an_unknown_condition_is_an_alternative_on_both_ranks() -> None:
    one, _ = residuals(branch(SOME, (op("barrier"),)))
    assert one is not None
    assert [ops(side) for side in one.sides] == [["barrier"], []]
    assert equal(branch(SOME, (op("barrier"),)))


def test_an_unknown_condition_with_equal_sides_is_none() -> None:
    one, _ = residuals(branch(SOME, (op("barrier"),), (op("barrier"),)))
    assert ops(one) == ["barrier"]


def test_a_condition_inside_itself_is_known() -> None:
    one, _ = residuals(branch(SOME, (branch(SOME, (op("barrier"),), (op("broadcast"),)),)))
    assert one is not None
    assert [ops(side) for side in one.sides] == [["barrier"], []]


def test_behind_a_return_its_condition_is_known() -> None:
    trace = (branch(SOME, (leave("return"),)), branch(SOME, (op("barrier"),), (op("broadcast"),)))
    one, _ = residuals(*trace)
    assert one is not None
    assert [ops(side) for side in one.sides] == [[], ["broadcast"]]


def test_a_condition_and_its_negation_are_one_branch() -> None:
    negated = unknown_condition(1, negated=True)
    one, two = (residuals(branch(truth, *sides))[0] for truth, sides in (
        (SOME, ((op("barrier"),), (op("broadcast"),))), (negated, ((op("broadcast"),), (op("barrier"),))),
    ))  # fmt: skip
    assert one is not None
    assert two is not None
    assert one.key[:2] == two.key[:2]
    assert [ops(side) for side in one.sides] == [ops(side) for side in two.sides]


def test_what_both_sides_begin_with_stands_before_the_branch() -> None:
    one, _ = residuals(branch(SOME, (op("barrier"), op("broadcast")), (op("barrier"),)))
    assert one is not None
    assert isinstance(one.step, Op)
    assert one.step.op == "barrier"


def test_a_side_that_raises_is_not_compared() -> None:
    one, _ = residuals(branch(SOME, (leave("raise"),)), op("barrier"))
    assert ops(one) == ["barrier"]


def test_a_loop_that_does_nothing_collective_is_none() -> None:
    assert residuals(loop(unknown_condition(9), branch(SOME, (leave("break"),)))) == (None, None)


def test_a_loop_runs_not_at_all_where_its_count_is_zero() -> None:
    one, two = residuals(loop((0, 1, 2, 3), op("barrier")))
    assert one is None
    assert has_op(two)


def test_behind_a_loop_that_returns_or_else_raises_are_the_runs_that_return() -> None:
    tried = call(loop(unknown_condition(9), branch(SOME, (leave("return"),))), leave("raise"))
    one, _ = residuals(tried, op("barrier"))
    assert ops(one) == ["barrier"]


def test_walking_gives_each_cell_once() -> None:
    one, _ = residuals(branch(SOME, (op("barrier"),)), op("all_reduce"))
    assert len(walk(one)) == len({id(cell) for cell in walk(one)}) == 3
