"""Merging ranks: one stack tree, frontiers by group."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.merge.frontiers import merge_frontiers
from ddpdoctor.merge.stacks import merge_stacks, stack_ends
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.report import StackNode
from ddpdoctor.model.stacks import Site
from tests.unit.diagnose import stories

MAIN, TRAIN, SAVE = (Site("/job/a.py", line, name) for line, name in ((30, "main"), (12, "train"), (6, "save")))


def test_common_frames_are_shown_once() -> None:
    # GIVEN three ranks of which one goes another way WHEN merged
    tree = merge_stacks({Rank(0): (MAIN, TRAIN), Rank(1): (MAIN, SAVE), Rank(2): (MAIN, TRAIN)})
    # THEN the common prefix is one node, the majority's branch first
    assert [(node.site, str(node.ranks)) for node in tree] == [(MAIN, "0-2")]
    assert [(node.site, str(node.ranks)) for node in tree[0].children] == [(TRAIN, "0,2"), (SAVE, "1")]
    assert stack_ends(tree) == {0: 0, 2: 0, 1: 1}


def test_a_stack_may_end_where_another_goes_on() -> None:
    tree = merge_stacks({Rank(0): (MAIN,), Rank(1): (MAIN, SAVE)})
    assert stack_ends(tree) == {0: 0, 1: 1}


sites = st.builds(Site, st.just("/job/a.py"), st.integers(1, 3), st.just("f"))
stacks = st.dictionaries(st.integers(0, 5).map(Rank), st.lists(sites, max_size=4).map(tuple), max_size=6)


def paths(nodes: tuple[StackNode, ...], above: tuple[Site, ...] = ()) -> dict[tuple[Site, ...], set[int]]:
    found: dict[tuple[Site, ...], set[int]] = {}
    for node in nodes:
        here = (*above, node.site)
        found[here] = set(node.ranks)
        found |= paths(node.children, here)
    return found


@given(stacks)
def test_every_rank_is_on_its_own_path_and_nowhere_else(given_stacks: dict[Rank, tuple[Site, ...]]) -> None:
    tree = merge_stacks(given_stacks)
    for path, ranks in paths(tree).items():
        assert ranks == {rank for rank, frames in given_stacks.items() if frames[: len(path)] == path}
    assert set(stack_ends(tree)) == {rank for rank, frames in given_stacks.items() if frames}
    assert merge_stacks(dict(reversed(given_stacks.items()))) == tree


def test_frontiers_group_ranks_by_their_last_operation() -> None:
    (group,) = merge_frontiers(stories.among(3, 1, stories.ran_out))
    assert group.label == "the default group"
    shown = [(str(f.ranks), f.seq, f.op, f.finished) for f in group.frontiers]
    assert shown == [("0,2", 4, "all_reduce", False), ("1", 4, "barrier", False)]
