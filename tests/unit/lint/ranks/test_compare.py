"""Two ranks side by side: what is reported of a trace, and which branch is to blame."""

from __future__ import annotations

import pytest

from ddpdoctor.lint.interpreter.trace import Branch, Node, Trace
from ddpdoctor.lint.ranks.compare import COMPARED, divergences
from ddpdoctor.lint.ranks.divergence import proof
from ddpdoctor.lint.ranks.residual import Builder, Cell
from ddpdoctor.lint.values.values import Symbol, Taint
from tests.unit.lint.traces import EVEN, FIRST, REST, branch, call, leave, loop, op, unknown_condition

SOME = unknown_condition(1)
LOCAL = unknown_condition(2, Taint.RANK_LOCAL)
TURNS = unknown_condition(9)


def reported(*trace: Node) -> list[tuple[str, int, int]]:
    return [(d.op.op, d.runs, d.lacks) for d in divergences(trace)]


def test_a_collective_of_one_rank_alone() -> None:
    assert reported(branch(FIRST, (op("barrier"),))) == [("barrier", 0, 1)]


def test_nothing_is_reported_where_all_run_the_same() -> None:
    assert reported(op("barrier"), branch(FIRST, (op("broadcast"),), (op("broadcast"),))) == []
    assert reported(branch(SOME, (op("barrier"),))) == []


def test_the_rest_of_another_branch_makes_up_for_it() -> None:
    assert reported(branch(FIRST, (op("barrier"),)), branch(REST, (op("barrier"),))) == []


def test_leaving_before_a_collective() -> None:
    (found,) = divergences((branch(REST, (leave("return"),)), op("barrier")))
    assert found.exit is not None
    assert (found.exit.kind, found.op.op) == ("return", "barrier")
    assert proof(found) == "rank 0 runs: barrier; rank 1 runs: nothing"


def test_two_sides_of_their_own_are_a_mismatch() -> None:
    (found,) = divergences((branch(EVEN, (op("all_reduce"),), (op("all_gather"),)),))
    assert found.mismatched


def test_the_branch_to_blame_is_the_one_around_the_surplus() -> None:
    extra = branch(FIRST, (op("barrier"),))
    assert [d.branch for d in divergences((op("barrier"), extra, op("barrier")))] == [extra]


def test_one_finding_for_each_branch() -> None:
    one, two = branch(FIRST, (op("barrier"), op("broadcast"))), branch(EVEN, (op("all_reduce"),))
    assert [d.branch for d in divergences((one, op("all_gather"), two))] == [one, two]


def test_members_of_a_group_are_compared_among_themselves() -> None:
    assert reported(branch(EVEN, (op("all_reduce", (0, 2)),))) == []
    assert reported(branch(FIRST, (op("all_reduce", (0, 2)),))) == [("all_reduce", 0, 2)]


def test_a_condition_on_data_of_the_rank_takes_both_sides() -> None:
    (found,) = divergences((branch(LOCAL, (op("all_reduce"),)),))
    assert found.local
    assert reported(branch(LOCAL, (op("all_reduce"),), (op("all_reduce"),))) == []


def test_data_of_the_rank_that_ends_a_loop() -> None:
    (found,) = divergences((loop(TURNS, op("all_reduce"), branch(LOCAL, (leave("break"),))),))
    assert found.looped
    assert found.exit is not None
    assert found.exit.kind == "break"


def test_a_branch_that_is_not_worth_trying_is_not_tried() -> None:
    assert divergences((branch(LOCAL, (op("all_reduce"),)),), lambda _: False) == []


def test_who_raises_keeps_nobody_waiting() -> None:
    assert reported(branch(FIRST, (leave("raise"),)), op("barrier")) == []
    assert reported(branch(FIRST, (op("barrier"),)), leave("raise")) == []


def test_a_loop_on_one_rank_alone() -> None:
    assert reported(branch(FIRST, (loop(TURNS, op("barrier")),))) == [("barrier", 0, 1)]


def test_counts_of_turns_that_differ_are_blamed_on_the_loop() -> None:
    assert reported(loop((1, 2, 1, 2), op("barrier"))) == [("barrier", 1, 0)]


def test_counts_of_turns_that_add_up() -> None:
    assert reported(loop((0, 1, 2, 3), op("barrier")), loop((3, 2, 1, 0), op("barrier"))) == []


def test_too_many_turns_to_go_through() -> None:
    assert reported(loop((10, 20, 10, 20), op("barrier"))) == []


def test_calls_lead_to_the_operation() -> None:
    inner = call(op("barrier"))
    (found,) = divergences((branch(FIRST, (inner,)),))
    assert found.chain == (inner.site,)


def test_a_rank_that_runs_it_in_any_case_beside_those_that_may() -> None:
    some = Symbol(5, Taint.UNKNOWN)
    assert reported(branch((True, some, some, some), (op("barrier"),))) == [("barrier", 0, 1)]


def test_different_unknowns_of_two_ranks_are_no_proof_but_a_choice_of_each() -> None:
    own = tuple(Symbol(n, Taint.UNKNOWN) for n in (5, 6, 6, 6))
    (item,) = divergences((branch(own, (op("barrier"),)), branch(FIRST, (), ())))
    assert (item.op.op, item.local) == ("barrier", True)


def test_long_traces_are_compared_from_their_first_difference_on() -> None:
    same = tuple(op("all_reduce") for _ in range(2 * COMPARED))
    assert reported(*same, branch(FIRST, (op("barrier"),)), *same) == [("barrier", 0, 1)]


def test_a_choice_is_compared_once_however_often_its_helper_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[tuple[int, int]] = []
    build = Builder.build

    def counted(
        self: Builder, trace: Trace, rank: int, other: int, chosen: tuple[Branch, bool] | None = None
    ) -> Cell | None:
        built.append((rank, other))
        return build(self, trace, rank, other, chosen)

    monkeypatch.setattr(Builder, "build", counted)
    choice = branch(LOCAL, (op("barrier"),))
    assert reported(call(choice)) == [("barrier", 0, 1)]
    once = len(built)
    assert reported(*(call(choice) for _ in range(50))) == [("barrier", 0, 1)]
    assert len(built) == 2 * once
