"""Stacks of any depth become a tree of bounded depth."""

from __future__ import annotations

from ddpdoctor.merge.stacks import MOST_DEPTH, merge_stacks, stack_ends
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site


def test_a_program_that_recurses_is_merged_by_both_ends() -> None:
    deep = [Site("/t.py", 1, "main"), *(Site("/t.py", 2, "down") for _ in range(5000)), Site("/t.py", 3, "bottom")]
    (root,) = merge_stacks({Rank(0): deep, Rank(1): deep[:-1]})
    assert root.site.function == "main"
    ends = stack_ends((root,))
    assert ends.keys() == {0, 1}
    depth = 0
    while root.children:
        depth, root = depth + 1, root.children[0]
    assert depth < MOST_DEPTH
