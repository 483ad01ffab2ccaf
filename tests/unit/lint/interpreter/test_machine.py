"""`quietly`: no events inside, however the block is left."""

from __future__ import annotations

import pytest

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
