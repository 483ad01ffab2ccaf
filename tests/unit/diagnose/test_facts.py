"""What is computed once for a look, and goes with it."""

from __future__ import annotations

import gc

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.diagnose.facts import Facts, digest, kept
from tests.unit.diagnose import stories
from tests.unit.diagnose.stories import among


def test_an_answer_is_computed_once_for_the_same_facts_and_arguments() -> None:
    asked: list[int] = []

    @kept
    def answer(facts: Facts, number: int) -> int:
        asked.append(number)
        return number + len(facts.waiting)

    facts, others = (digest(among(3, 1, stories.ran_out)) for _ in range(2))
    assert [answer(facts, 1), answer(facts, 1), answer(facts, 2), answer(others, 1)] == [4, 4, 5, 4]
    assert asked == [1, 2, 1]


def test_a_look_leaves_nothing_behind() -> None:
    """A watcher looks for days; the evidence of its last looks is not kept alive by what was computed of it."""
    before = _facts_alive()
    examine(among(3, 1, stories.left_early))
    assert _facts_alive() <= before


def _facts_alive() -> int:
    gc.collect()
    # by type: some of torch's objects, if a test has imported it, warn when they are asked for their class
    return sum(type(one) is Facts for one in gc.get_objects())
