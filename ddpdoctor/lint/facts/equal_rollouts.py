"""Rollouts that all ranks collect alike: environments and actions that begin with the same seeds on every rank."""

from __future__ import annotations

import ast

from ddpdoctor.lint.facts import blocks, seeds
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases, randomness, vocabulary
from ddpdoctor.lint.knowledge.randomness import Generator, Use
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import ANY_RANK, SHARED_OUT, Tag
from ddpdoctor.lint.values.values import Taint, Value
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import last_name, walk

#: distributions of torch, of which actions are drawn
_DISTRIBUTIONS = "torch.distributions."
_MULTINOMIAL = "torch.multinomial"
#: what an environment of the program's own can do
_ENVIRONMENT = frozenset({"reset", "step"})
#: packages whose environments are given a seed when they are reset
_GYMS = ("gymnasium.", "gym.")
_MAKERS = randomness.paths(Use.MAKES)


class EqualRollout(NamedTuple):
    """Where actions are drawn, and where the environments get their seed."""

    action: CallEvent
    environment: CallEvent


def found(facts: ModuleFacts) -> EqualRollout | None:
    """What is collected in the training loop, by actions of torch's generator and in environments with a seed of their
    own that is the same on all ranks."""
    passes = facts.methods("backward")
    if not passes or facts.named(aliases.SAMPLER) or any(_is_of_share(c.receiver) for c in passes):
        return None
    turned = {loop.site for c in passes for loop in c.context.loops}
    action = next((c for c in _actions(facts) if any(loop.site in turned for loop in c.context.loops)), None)
    seeded = [c for c in _environments(facts) if c[1] is not None]
    if action is None or not seeded or not all(_is_alike(value) for _, value in seeded):
        return None
    return EqualRollout(action, seeded[0][0])


def _is_of_share(loss: Value | None) -> bool:
    """Whether what is learnt from is divided between the ranks."""
    return loss is not None and bool(loss.tags & SHARED_OUT)


def _actions(facts: ModuleFacts) -> list[CallEvent]:
    drawn = [c for c in facts.methods("sample", "rsample") if _is_distribution(c.receiver)]
    return drawn + [c for c in facts.named(_MULTINOMIAL) if c.keyword("generator") is None]


def _is_distribution(owner: Value | None) -> bool:
    made = owner.object if owner is not None else None
    return isinstance(made, Made) and made.path.startswith(_DISTRIBUTIONS)


def _environments(facts: ModuleFacts) -> list[tuple[CallEvent, Value | None]]:
    """The calls that give environments their seeds, and the seeds: where they make generators of their own, and where
    those of gymnasium are reset."""
    found: list[tuple[CallEvent, Value | None]] = []
    for call in facts.named(*_MAKERS):
        function = call.context.function
        owner = function.owner if function is not None else None
        if owner is not None and owner.methods.keys() >= _ENVIRONMENT:
            if _is_given_rank(facts, call):
                return []
            found.append((call, call.args[0] if call.args else call.keyword("seed")))
    for call in facts.methods("reset"):
        made = call.receiver.object if call.receiver is not None else None
        if isinstance(made, Made) and made.path.startswith(_GYMS):
            if any(_is_by_rank(value) for value in (*made.args, *(v for _, v in made.keywords))):
                return []
            found.append((call, call.argument(0, "seed")))
    return found


def _is_given_rank(facts: ModuleFacts, maker: CallEvent) -> bool:
    """Whether an environment is made of something that has to do with the rank: a level for each."""
    site = maker.context.chain[-1] if maker.context.chain else None
    module = blocks.module_of(facts, site) if site is not None else None
    if site is None or module is None:
        return True
    by_rank = _named_by_rank(innermost_function(module.tree, site.line) or module.tree)
    calls = (c for c in module.of(ast.Call) if (c.lineno, c.col_offset + 1) == (site.line, site.column))
    given = (part for c in calls for part in (*c.args, *(k.value for k in c.keywords)))
    return any(_names(part) & by_rank for part in given)


#: as the rank is called, and what gives it
_RANKS = vocabulary.RANK_NAMES | {"get_rank", "process_index", "global_rank"}


def _named_by_rank(scope: ast.AST) -> set[str]:
    """The variables of a function that the rank, or something computed from it, is put into, and the rank's own."""
    assigned = [
        (n.targets[0].id, _names(n.value))
        for n in walk(scope)
        if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
    ]
    found, known = set(_RANKS), 0
    while known < len(found):
        known = len(found)
        found |= {name for name, read in assigned if read & found}
    return found


def _names(node: ast.AST) -> set[str]:
    return {last_name(n) for n in walk(node) if isinstance(n, (ast.Name, ast.Attribute))}


def _is_by_rank(value: Value) -> bool:
    return len(value.atoms) > 1 or bool(value.tags & (ANY_RANK | Tag.IN_GROUP | Tag.RANK_BY_NAME))


def _is_alike(seed: Value | None) -> bool:
    """Whether a seed is surely the same on all ranks."""
    return seed is not None and not _is_by_rank(seed) and seed.taint <= Taint.GIVEN


def seeding(facts: ModuleFacts) -> list[CallEvent]:
    """The calls that seed what actions are drawn from, if every rank does it with the same number or option."""
    given = [c for c in seeds.seedings(facts) if Generator.TORCH in seeds.row(c).generators]
    alike = all(seeds.constant(facts, c) and not seeds.asked_for(facts, c) for c in given)
    return given if alike else []
