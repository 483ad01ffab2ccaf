"""A call that is made once in each round, at one of two places: who has made it at the first passes over the second."""

from __future__ import annotations

import ast

from ddpdoctor.diagnose.digest.sides import Comparison
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import walk


def comes_early(facts: Facts, compared: Comparison) -> bool:
    """Whether the odd ranks make now, on another way, the call that they made later in the rounds before, and will not
    make there in this one: the same calls in another order."""
    step, history = compared.odd_next, facts.histories.get(compared.pair[0])
    if step is None or step.kind is not EventKind.CALL or not step.collective or history is None:
        return False
    usual = [one.path for one in history.steps if one == step and one.path != step.path]
    return bool(usual) and _excludes(facts, step.path, usual[-1])


def _excludes(facts: Facts, now: tuple[Site, ...], later: tuple[Site, ...]) -> bool:
    """Whether a function on the one way sets what is asked for before the call on the other."""
    forks = [n for n, (mine, its) in enumerate(zip(now[::-1], later[::-1], strict=False), 1) if mine != its]
    if not forks:
        return False
    fork, inside = later[-forks[0]], now[: len(now) - forks[0]]
    around = [node for node in enclosing.around(facts.program, fork) if isinstance(node, ast.If)]
    asked = {part.attr for node in around for part in walk(node.test) if isinstance(part, ast.Attribute)}
    return any(asked & _set_by(facts, frame) for frame in inside)


def _set_by(facts: Facts, frame: Site) -> set[str]:
    """The attributes to which the function around the line gives a constant."""
    function = enclosing.function_around(facts.program, frame)
    given = [node for node in walk(function) if isinstance(node, ast.Assign)] if function is not None else []
    constants = [node for node in given if isinstance(node.value, ast.Constant)]
    return {target.attr for node in constants for target in node.targets if isinstance(target, ast.Attribute)}
