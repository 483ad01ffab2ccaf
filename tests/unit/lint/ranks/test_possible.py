"""Ranks that test different unknowns, and may do the same all the same."""

from __future__ import annotations

from ddpdoctor.lint.interpreter.trace import Node
from ddpdoctor.lint.ranks.possible import may_agree
from ddpdoctor.lint.ranks.residual import Builder
from ddpdoctor.lint.values.values import Atom, Symbol, Taint
from tests.unit.lint.traces import branch, op, unknown_condition


def agree(*trace: Node) -> bool:
    builder = Builder()
    return may_agree(builder.build(trace, 0, 1), builder.build(trace, 1, 0))


def but_for_the_first(known: bool, taint: Taint = Taint.UNKNOWN) -> tuple[Atom, ...]:
    return (known, *(Symbol(1, taint),) * 3)


def test_a_condition_that_one_rank_alone_tests_may_turn_out_the_same_for_another_reason() -> None:
    """Rank 0 tests one unknown, rank 1 another."""
    conditions = branch((Symbol(1, Taint.UNKNOWN), *(Symbol(2, Taint.UNKNOWN),) * 3), (op("barrier"),))
    assert agree(conditions)


def test_a_rank_that_runs_it_in_any_case_is_no_rank_that_may() -> None:
    assert not agree(branch(but_for_the_first(known=True), (op("barrier"),)))


def test_data_of_a_rank_is_tried_with_nothing() -> None:
    one = (Symbol(1, Taint.RANK_LOCAL), *(Symbol(2, Taint.UNKNOWN),) * 3)
    assert not agree(branch(one, (op("barrier"),)))


def test_what_both_test_has_one_outcome() -> None:
    both = branch(unknown_condition(7), (op("all_reduce"),), (op("all_gather"),))
    own = branch((Symbol(1, Taint.UNKNOWN), *(Symbol(2, Taint.UNKNOWN),) * 3), (op("barrier"),))
    assert agree(both, own)


def test_too_many_conditions_are_not_tried() -> None:
    both = [branch(unknown_condition(10 + n), (op(f"op{n}"),)) for n in range(7)]
    own = branch((Symbol(1, Taint.UNKNOWN), *(Symbol(2, Taint.UNKNOWN),) * 3), (op("barrier"),))
    assert not agree(*both, own)


def test_conditions_that_both_test_and_that_leave_no_difference() -> None:
    """`if x or rank == 0: barrier()` on one way, `if not x: ...` on the other: together the same for both."""
    some = Symbol(1, Taint.UNKNOWN)
    two = branch(unknown_condition(2), (op("all_reduce"),))
    sides = (two, branch((some,), (), (op("barrier"),)))
    assert agree(branch((some, True, True, True), sides, sides))
