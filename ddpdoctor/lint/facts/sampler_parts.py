"""Which ranks share the data by one sampler: those of the whole job, or of a part of it, as of a member of a population
that trains its own network."""

from __future__ import annotations

import ast
from collections import Counter

from ddpdoctor.lint.values.abstract_objects import Arguments
from ddpdoctor.lint.values.values import WORLD, Value
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.text import text_of


def differ(sampler: Arguments, node: ast.Call | None, number: Value, name: str) -> bool:
    """Whether ranks that share a sampler have different numbers, where not all ranks have the same one; `name`: that of
    the sampler's argument, if the number is one. Where it is not known which ranks share it, a number that is computed
    from what the sampler is given as the rank is known to differ, and no other is."""
    replicas, rank = sampler.argument(1, "num_replicas"), sampler.argument(2, "rank")
    if rank is None or (rank.known and rank.constant is None):
        return True
    if replicas is not None and replicas.known and replicas.constant in (None, WORLD):
        return True
    if not rank.known:
        return _holds_rank(node, name)
    return len(set(rank.atoms)) == WORLD or _mixes(rank, number, _holds_rank(node, name))


def _mixes(rank: Value, number: Value, holds_rank: bool) -> bool:
    """Whether no division into parts, each with one rank for each share, has the same number within all of its parts:
    then as many ranks of each share would have it."""
    if not number.known:
        return holds_rank
    shares = sorted({rank.at(r) for r in range(WORLD)}, key=str)
    has = Counter((number.at(r), rank.at(r)) for r in range(WORLD))
    return any(len({has[one, share] for share in shares}) > 1 for one in {number.at(r) for r in range(WORLD)})


def _holds_rank(node: ast.Call | None, name: str) -> bool:
    """Whether an argument that is given by name is computed from what is given as the rank: `rank=i, seed=seed + i`."""
    given = {keyword.arg: keyword.value for keyword in node.keywords} if node is not None else {}
    rank, number = given.get("rank"), given.get(name)
    return rank is not None and number is not None and text_of(rank) in {text_of(n) for n in walk(number)}
