"""`quietly`: no events inside, however the block is left; and what is left of an analysis that is released."""

from __future__ import annotations

import gc

import pytest

from ddpdoctor.lint.interpreter.frame import Frame
from tests.unit.lint.simulation import shown, simulate


def test_quiet_blocks_nest() -> None:
    machine = simulate("")
    with machine.quietly():
        with machine.quietly():
            assert machine.silent == 2
        assert machine.silent == 1
    assert machine.silent == 0


def test_a_block_that_fails_is_quiet_no_longer() -> None:
    machine = simulate("")
    with pytest.raises(RecursionError), machine.quietly():
        raise RecursionError
    assert machine.silent == 0


def test_source_that_nests_too_deeply_hides_nothing_else() -> None:
    nested = "-" * 900 + "1"
    text = f"def deep(x={nested}):\n    return x\n\n\ndef one():\n    deep()\n\n\ndef two():\n    show(1)"
    assert [value.constant for value in shown(text)] == [1]


def test_a_site_is_where_a_node_stands() -> None:
    machine = simulate("def main():\n    show(1)")
    (call,) = [call for call in machine.calls if call.path == "elsewhere.show"]
    assert (call.site.file, call.site.column) == ("/job/main.py", 5)
    assert machine.module.lines[call.site.line - 1] == "    show(1)"


def test_what_was_simulated_does_not_refer_to_itself_once_it_is_released() -> None:
    def frames() -> int:
        return sum(type(held) is Frame for held in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = frames()
        made = simulate("""
            def main(args, model):
                def step(batch, scale=lambda loss: loss / 2):
                    return scale(model(batch))
                for batch in args.loader:
                    args.step = step
                    show(step(batch))
        """)
        assert frames() > before
        made.release()
        del made
        assert frames() == before
    finally:
        gc.enable()
