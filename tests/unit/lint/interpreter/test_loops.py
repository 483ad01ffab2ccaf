"""Loops run once; what a turn changes is not known at its start."""

from __future__ import annotations

from ddpdoctor.lint.values.values import Taint
from tests.unit.lint.simulation import outline, shown, simulate, trace


def test_a_loop_is_one_node() -> None:
    assert outline(trace("def main(rows):\n    for row in rows:\n        dist.barrier()")) == "loop{barrier}"


def test_what_no_turn_changes_stays_known() -> None:
    (value,) = shown("def main(rows):\n    x = 1\n    for row in rows:\n        show(x)")
    assert value.constant == 1


def test_what_a_turn_changes_is_unknown() -> None:
    inside, behind = shown(
        "def main(rows):\n    x = 1\n    for row in rows:\n        show(x)\n        x += 1\n    show(x)"
    )
    assert not inside.known
    assert not behind.known


def test_data_of_the_rank_is_carried_from_turn_to_turn() -> None:
    (value,) = shown(
        "def main(rows):\n    total = 0\n    for row in rows:\n        total += time.time()\n    show(total)"
    )
    assert value.taint is Taint.RANK_LOCAL


def test_what_is_tried_out_leaves_no_events() -> None:
    text = "def main(rows):\n    x = 1\n    for row in rows:\n        x = show(x)"
    assert len(shown(text)) == 1


def test_ways_out_of_a_loop() -> None:
    text = """
def main(rows, option):
    for row in rows:
        if row.skip:
            continue
        dist.barrier()
        if row.last:
            break
"""
    assert outline(trace(text)) == "loop{if(row.skip){continue|} barrier if(row.last){break|}}"


def test_a_loop_that_ends_by_a_way_out_alone_is_endless() -> None:
    (node,) = trace("def main(done):\n    while True:\n        dist.barrier()\n        if done():\n            break")
    assert node.endless  # type: ignore[union-attr]


def test_iterations_are_recorded_with_what_they_go_through() -> None:
    (iteration,) = simulate("def main(rows):\n    for row in rows:\n        pass").iterations
    assert iteration.loop.target == "row"
    assert iteration.context.loops == ()


def test_the_else_of_a_loop_stands_behind_it() -> None:
    text = "def main(rows):\n    for row in rows:\n        dist.barrier()\n    else:\n        dist.all_reduce(0)"
    assert outline(trace(text)) == "loop{barrier} all_reduce"
