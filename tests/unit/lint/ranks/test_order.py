"""Which of two events surely comes before the other."""

from __future__ import annotations

from ddpdoctor.lint.ranks.order import surely_before
from tests.unit.lint.simulation import simulate


def _before(body: str) -> bool:
    """Whether `show(1)` surely comes before `show(2)`."""
    calls = [c for c in simulate(f"def main(option, rows):\n{body}").calls if c.path == "elsewhere.show"]
    first, second = (next(c for c in calls if c.args[0].constant == n) for n in (1, 2))
    return surely_before(first.context, second.context)


def test_one_after_the_other() -> None:
    assert _before("    show(1)\n    show(2)")
    assert _before("    show(1)\n    if option:\n        show(2)")
    assert _before("    if option:\n        show(1)\n        show(2)")


def test_not_under_a_branch_or_in_a_loop_of_its_own() -> None:
    assert not _before("    if option:\n        show(1)\n    show(2)")
    assert not _before("    for row in rows:\n        show(1)\n    show(2)")
    assert not _before("    if dist.get_rank() == 0:\n        show(1)\n    show(2)")


def test_not_where_an_exception_is_handled() -> None:
    assert not _before("    try:\n        pass\n    except ValueError:\n        show(1)\n    show(2)")
