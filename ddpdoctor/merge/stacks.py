"""Merges the ranks' stacks into one prefix tree whose nodes carry rank sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.report import StackNode
from ddpdoctor.model.stacks import Site

#: frames of a stack that are merged; of a deeper one (recursion) the outermost and the innermost ones
MOST_DEPTH = 128


def merge_stacks(stacks: Mapping[Rank, Sequence[Site]]) -> tuple[StackNode, ...]:
    """Build the tree from each rank's frames, outermost first. Ranks without frames are left out."""
    return _level({rank: _ends_of(frames) for rank, frames in stacks.items() if frames}, 0)


def _ends_of(frames: Sequence[Site]) -> Sequence[Site]:
    half = MOST_DEPTH // 2
    return frames if len(frames) <= MOST_DEPTH else [*frames[:half], *frames[-half:]]


def _level(stacks: Mapping[Rank, Sequence[Site]], depth: int) -> tuple[StackNode, ...]:
    by_site: dict[Site, dict[Rank, Sequence[Site]]] = {}
    for rank, frames in stacks.items():
        if len(frames) > depth:
            by_site.setdefault(frames[depth], {})[rank] = frames
    nodes = [StackNode(site, RankSet.of(below), _level(below, depth + 1)) for site, below in by_site.items()]
    # the largest sets of ranks first; the order must not depend on that of the input
    return tuple(sorted(nodes, key=lambda node: (-len(node.ranks), node.ranks.members, node.site)))


def stack_ends(nodes: Sequence[StackNode]) -> Mapping[Rank, int]:
    """Number the places where stacks end, in the tree's reading order; returns the number for each rank."""
    ends: dict[Rank, int] = {}
    for number, ranks in enumerate(_ends(nodes)):
        ends.update(dict.fromkeys(ranks, number))
    return ends


def _ends(nodes: Sequence[StackNode]) -> Iterator[RankSet]:
    for node in nodes:
        deeper = RankSet.of(rank for child in node.children for rank in child.ranks)
        here = node.ranks - deeper
        if here:
            yield here
        yield from _ends(node.children)
