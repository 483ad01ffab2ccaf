"""Exceptions that one rank raises and another does not."""

from __future__ import annotations

from ddpdoctor.lint.ranks.raises import raised_alone
from tests.unit.lint.simulation import simulate

SOURCE = """
def main(model, batch):
    if {condition}:
        raise {raised}
    dist.barrier()
"""


def _names(condition: str, raised: str) -> set[str]:
    analysis = simulate(SOURCE.format(condition=condition, raised=raised))
    return raised_alone((root.trace for root in analysis.roots), analysis.reached)


def test_a_class_of_ones_own() -> None:
    assert _names("time.time() > 3", "Stop()") == {"Stop"}
    assert _names("time.time() > 3", "errors.Stop") == {"Stop"}


def test_a_condition_that_is_equal_on_all_ranks() -> None:
    assert _names("model.training", "Stop()") == set()
    assert _names("dist.get_rank() == 0", "Stop()") == set()
