"""Models that the ranks of a group compute together, of which each rank draws the parts that all of them have.

The forward pass reduces over one group (tensor parallelism), and gradients are averaged over another. What makes the
weights equal within the second leaves them different within the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ddpdoctor.lint.facts import averaged_gradients
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.values import symbols
from ddpdoctor.lint.values.abstract_objects import GroupOf
from ddpdoctor.lint.values.values import Symbol, Value, symbol_key
from ddpdoctor.model.named_tuple import NamedTuple

#: reduce what the ranks of a group have computed
_REDUCING = ("torch.distributed.all_reduce", "torch.distributed.all_gather_into_tensor", "torch.distributed.all_gather",
             "torch.distributed.reduce_scatter_tensor")  # fmt: skip
_BROADCAST = "torch.distributed.broadcast"
#: operations by which a number of some ranks becomes one that they share, such as that of their group
_DIVIDING = frozenset({"FloorDiv", "Mod", "Div", "RShift", "BitAnd"})
_DEPTH = 4


class Together(NamedTuple):
    """A collective by which ranks compute a model together, and the average of its gradients over other ranks."""

    reduced: CallEvent
    averaged: CallEvent
    #: the classes whose parts the ranks share
    owners: frozenset[str]


def found(facts: ModuleFacts) -> Together | None:
    """The first of each, where nothing makes weights equal on the ranks that compute together."""
    groups = {key: call for call in reversed(facts.named(*_REDUCING)) if (key := _of_forward(call)) is not None}
    for averaged in averaged_gradients.calls(facts) if groups else ():
        group = _group(averaged)
        within = {key: call for key, call in groups.items() if key != group}
        if group is None or not within or any(_group(c) != group for c in facts.named(_BROADCAST) if c.context.loops):
            continue
        reducing = [call for call in facts.named(*_REDUCING) if _of_forward(call) in within]
        owners = {owner for call in reducing for owner in _owners(call)}
        return Together(next(iter(within.values())), averaged, frozenset(owners))
    return None


def _owners(call: CallEvent) -> list[str]:
    """The classes that a collective is in: that of the function of autograd, and that of the part which calls it."""
    classes = [owner for name in call.context.calls if (owner := name.rpartition(".")[0])]
    return list(dict.fromkeys(reversed(classes)))[:2]


def is_whole(layer: CallEvent, together: Together) -> bool:
    """Whether a layer is made where each rank has all of it: not in a class whose parts the ranks share."""
    calls = layer.context.calls
    return bool(calls) and calls[-1].rpartition(".")[0] not in together.owners


def parts_all(seed: Value) -> bool:
    """Whether a seed is another one on each rank: a sum with the rank, and not one with the number of its group."""
    structures = symbols.structures()
    return len(set(seed.atoms)) == len(seed.atoms) > 1 and not any(
        _divides(atom.key, structures, _DEPTH) for atom in seed.atoms if isinstance(atom, Symbol)
    )


def _divides(key: int, structures: Mapping[int, tuple[object, ...]], depth: int) -> bool:
    """Whether an unknown is computed by an operation that gives several ranks the same."""
    structure = structures.get(key, ())
    if not depth or not structure:
        return False
    if structure[0] in _DIVIDING:
        return True
    return any(_divides(part.key, structures, depth - 1) for part in _symbols(structure[1:]))


def _symbols(parts: tuple[object, ...]) -> Iterator[Symbol]:
    """The unknowns that an operation is given."""
    for part in parts:
        if isinstance(part, Symbol):
            yield part
        elif isinstance(part, tuple):
            yield from _symbols(part)


def _of_forward(call: CallEvent) -> int | None:
    """The group, if it is a part of the job, over which a forward pass reduces; None for any other call."""
    forward = any(name.endswith(".forward") for name in call.context.calls)
    return _group(call) if forward else None


def _group(call: CallEvent) -> int | None:
    """The identity of the group of a collective, where it is one of several of its kind; None of any other."""
    given = call.keyword("group")
    several = given is not None and isinstance(given.object, GroupOf) and given.object.several
    return symbol_key(given) if given is not None and several else None
