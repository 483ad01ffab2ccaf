"""When two unknowns are the same symbol, and how long that is remembered."""

from __future__ import annotations

from itertools import combinations

import pytest

from ddpdoctor.lint import registry
from ddpdoctor.lint.linter import Linter
from ddpdoctor.lint.settings import Settings
from ddpdoctor.lint.values import symbols
from ddpdoctor.lint.values.values import Taint, Value, binary, const, unknown

CONSTANTS = (-1, -2, 0, 1, True, False, None, 0.0, -0.0, 1.0, "", "1", b"", (), (1,), (True,), (-1,), (-2,), ((1,),))


@pytest.mark.parametrize("name", ["Eq", "Is", "Add", "In", "Mod"])
def test_operations_on_different_constants_are_different_unknowns(name: str) -> None:
    held = symbols.hold()
    some = unknown("argument")
    keys = [symbols.operation(name, (some.atoms[0], constant))[0] for constant in CONSTANTS]
    assert all(a != b for a, b in combinations(keys, 2))
    assert keys == [symbols.operation(name, (some.atoms[0], constant))[0] for constant in CONSTANTS]
    del held


def test_an_unequal_comparison_is_the_negation_of_the_equal_one() -> None:
    held = symbols.hold()
    for name, opposite in (("Eq", "NotEq"), ("Is", "IsNot"), ("In", "NotIn")):
        key, negated = symbols.operation(name, ("x", 1))
        assert (key, not negated) == symbols.operation(opposite, ("x", 1))
    del held


def test_results_that_are_too_large_are_one_unknown_only_where_they_are_one_result() -> None:
    held = symbols.hold()
    power, other = binary("Pow", const(10), const(40)), binary("Pow", const(10), const(41))
    assert power == binary("Pow", const(10), const(40))
    assert power != other
    failed = binary("Div", const(1), const(0))
    assert failed == binary("Div", const(1), const(0))
    assert failed != binary("Div", const(2), const(0))
    del held


def test_what_cannot_be_compared_is_no_other_unknown() -> None:
    assert symbols.number(("list", [1])) != symbols.number(("list", [1]))


def test_a_number_is_never_given_to_two_structures() -> None:
    held = symbols.hold()
    before = symbols.number(("old",))
    del held
    held = symbols.hold()
    assert symbols.number(("new",)) != before
    assert symbols.number(("old",)) != before
    del held


def test_the_table_is_that_of_the_analyses_that_run() -> None:
    one = symbols.hold()
    key = symbols.number(("shared",))
    two = symbols.hold()
    del one
    assert symbols.number(("shared",)) == key
    del two


def test_a_file_that_was_linted_leaves_no_symbols_behind() -> None:
    source = "import torch.distributed as dist\n\n\ndef f(a):\n    if a.x == 1:\n        dist.barrier()\n"
    Linter(Settings(registry.defaults())).bytes("x.py", source.encode(), named=True)
    assert symbols._numbers == {}


def test_minus_one_and_minus_two_are_two_modes() -> None:
    source = """import torch.distributed as dist


def f(mode):
    if mode == -1:
        return
    if mode == -2 and dist.get_rank() == 0:
        dist.barrier()
"""
    found = Linter(Settings(registry.defaults())).bytes("x.py", source.encode(), named=True).findings
    assert [(f.code, f.line) for f in found] == [("DD111", 8)]


def test_a_rank_is_no_unknown() -> None:
    ranks = Value((0, 1, 2, 3), Taint.RANK)
    assert binary("Eq", ranks, const(0)).atoms == (True, False, False, False)
