"""Branches: each side on the ranks that take it, and what holds behind both."""

from __future__ import annotations

from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import EVERY_RANK, RANK_ZERO, Taint
from tests.unit.lint.simulation import outline, shown, simulate, trace


def masks(text: str) -> list[int]:
    """The ranks that come to each `show`."""
    return [call.context.mask for call in simulate(text).calls if call.path == "elsewhere.show"]


def test_a_known_condition_has_one_side() -> None:
    assert outline(
        trace("def main():\n    if 1 < 2:\n        dist.barrier()\n    else:\n        dist.all_reduce(0)")
    ) == ("barrier")


def test_a_condition_on_the_rank_splits_the_ranks() -> None:
    text = """
def main():
    if dist.get_rank() == 0:
        show(1)
    else:
        show(2)
    show(3)
"""
    assert masks(text) == [RANK_ZERO, EVERY_RANK & ~RANK_ZERO, EVERY_RANK]


def test_who_has_returned_comes_no_further() -> None:
    assert masks("def main():\n    if dist.get_rank() != 0:\n        return\n    show(1)") == [RANK_ZERO]


def test_behind_a_branch_on_the_rank_a_variable_is_another_on_each() -> None:
    (value,) = shown("def main():\n    x = 'a' if dist.get_rank() == 0 else 'b'\n    show(x)")
    assert value.atoms == ("a", "b", "b", "b")


def test_behind_an_unknown_condition_a_variable_is_unknown() -> None:
    (value,) = shown("def main(option):\n    x = 1\n    if option:\n        x = 2\n    show(x)")
    assert not value.known
    assert value.taint is Taint.UNKNOWN


def test_a_name_that_one_side_binds_is_perhaps_bound() -> None:
    (value,) = shown("def main(option):\n    if option:\n        x = 2\n    show(x)")
    assert value.tags & Tag.MAYBE


def test_one_condition_goes_the_same_way_twice() -> None:
    text = "def main(a):\n    if a.on:\n        x = 1\n    if a.on:\n        dist.barrier()"
    again = trace(text.replace("x = 1", "dist.barrier()"))
    first, second = again
    assert first.truth == second.truth  # type: ignore[union-attr]


def test_a_comparison_and_its_opposite_are_one_unknown() -> None:
    text = """
def main(mode):
    if mode == 1:
        dist.barrier()
    if mode != 1:
        dist.all_reduce(0)
"""
    (one,), (two,) = (node.truth for node in trace(text))  # type: ignore[union-attr]
    assert (one.key, one.negated) == (two.key, not two.negated)


def test_match_is_a_chain_of_branches() -> None:
    text = """
def main():
    match dist.get_rank():
        case 0:
            dist.barrier()
        case 1:
            dist.all_reduce(0)
        case _:
            dist.broadcast(0, 0)
"""
    assert outline(trace(text)) == "if(case){barrier|if(case){all_reduce|broadcast}}"


def test_only_the_case_of_an_enumeration_s_member_is_run() -> None:
    text = """
from enum import Enum

class Unit(Enum):
    STEP = 1
    SECOND = 2
    HOUR = 3

def due(unit, step):
    match unit:
        case Unit.STEP:
            return step
        case Unit.SECOND | Unit.HOUR:
            dist.barrier()
    return None

def main():
    due(Unit.STEP, 1)
    due(Unit.HOUR, 1)
"""
    assert outline(trace(text)) == "due{barrier return}"


def test_a_case_without_its_guard_is_not_taken() -> None:
    text = """
def main(option):
    match dist.get_rank():
        case rank if rank > 0:
            show(rank)
        case _:
            show(option)
"""
    assert masks(text) == [EVERY_RANK & ~RANK_ZERO, RANK_ZERO]
    assert shown(text)[0].atoms == (0, 1, 2, 3)


def test_a_text_with_something_in_it_is_true_whatever_else_is_put_into_it() -> None:
    text = """
import os
import time

def main(option):
    name, shorter = f"run-{time.time()}", f"{option}"
    folder = os.path.join(option, name) if option else None
    if name:
        dist.barrier()
    if folder:
        dist.all_reduce(0)
    if shorter:
        dist.broadcast(0, 0)
"""
    assert outline(trace(text)) == "barrier if(folder){all_reduce|} if(shorter){broadcast|}"


def test_an_exception_is_an_alternative_that_is_never_assumed() -> None:
    text = """
def main(read):
    try:
        read()
    except OSError:
        dist.barrier()
    finally:
        dist.all_reduce(0)
"""
    assert outline(trace(text)) == "if(except){barrier|} all_reduce"


def test_finally_stands_in_front_of_a_return_as_well() -> None:
    text = """
def main(option):
    try:
        if option:
            return
    finally:
        dist.barrier()
"""
    assert outline(trace(text)) == "if(option){barrier return|} barrier"
