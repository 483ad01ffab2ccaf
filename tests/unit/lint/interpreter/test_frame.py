"""The state of one function: which data of the rank decides whether a node runs."""

from __future__ import annotations

from ddpdoctor.lint.interpreter.frame import Frame, decided_by
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import EVERY_RANK
from tests.unit.lint.simulation import module, simulate


def test_a_frame_begins_with_all_ranks() -> None:
    frame = Frame(module("x = 1"))
    assert frame.mask == EVERY_RANK
    assert frame.alive
    frame.mask = 0
    assert not frame.alive


def test_frames_share_nothing() -> None:
    one, two = Frame(module("")), Frame(module(""))
    one.env["x"] = None  # type: ignore[assignment]
    one.out.append(None)  # type: ignore[arg-type]
    assert (two.env, two.out) == ({}, [])


def test_what_decides_is_the_data_of_the_branch_around_a_node() -> None:
    text = """
def main():
    if time.time() > 3:
        show(1)
    show(2)
"""
    analysis = simulate(text)
    inside, behind = [call for call in analysis.calls if call.path == "elsewhere.show"]
    frame = Frame(analysis.module, guards=inside.context.guards)
    tags = decided_by(frame, inside.node)
    assert tags is not None
    assert tags & Tag.TIME
    assert decided_by(frame, behind.node) is None
    assert decided_by(Frame(analysis.module), inside.node) is None
