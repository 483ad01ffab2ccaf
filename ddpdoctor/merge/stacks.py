"""Merge the main threads of all ranks into one prefix tree, as STAT does: N stacks become a few branches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.report import StackNode
from ddpdoctor.model.stacks import Site


def prefix_tree(evidence: Evidence) -> tuple[StackNode, ...]:
    """The merged main-thread stacks, outermost frame at the root, branches ordered by their first rank."""
    paths: dict[Rank, tuple[Site, ...]] = {}
    for rank in evidence.ranks:
        main = rank.stacks.main() if rank.stacks else None
        if main and main.frames:
            paths[rank.rank] = main.frames[::-1]
    return _branches(paths)


def leaves(tree: Iterable[StackNode]) -> dict[Rank, int]:
    """Number the places where ranks' stacks end, from the left, and say which rank ends at which."""
    numbers: dict[Rank, int] = {}
    _number(tuple(tree), numbers, 0)
    return numbers


def _branches(paths: Mapping[Rank, tuple[Site, ...]]) -> tuple[StackNode, ...]:
    by_site: dict[Site, dict[Rank, tuple[Site, ...]]] = {}
    for rank, path in sorted(paths.items()):
        if path:
            by_site.setdefault(path[0], {})[rank] = path[1:]
    return tuple(
        StackNode(site=site, ranks=RankSet.of(rest), children=_branches(rest)) for site, rest in by_site.items()
    )


def _number(nodes: tuple[StackNode, ...], numbers: dict[Rank, int], following: int) -> int:
    for node in nodes:
        ending = [r for r in node.ranks if not any(r in child.ranks for child in node.children)]
        for rank in ending:
            numbers[rank] = following
        following = _number(node.children, numbers, following + bool(ending))
    return following
