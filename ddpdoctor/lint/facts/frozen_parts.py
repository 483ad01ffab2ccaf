"""Parts of networks whose gradients are switched off and on again, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from ddpdoctor.lint.facts import hook_switches
from ddpdoctor.lint.facts.chosen_parts import Choice, Chooser
from ddpdoctor.lint.facts.module_facts import DDP_PATHS, ModuleFacts
from ddpdoctor.lint.facts.network_parts import Part, Parts, by_name, contains
from ddpdoctor.lint.interpreter.events import Context, EnclosingLoop
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.iteration import PARAMETER
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.record import record
from ddpdoctor.program.sites import SourceSite


class Frozen(Enum):
    """How much of a part has no gradients."""

    NOTHING = 0
    #: some parameters, by their names or numbers
    SOME = 1
    ALL = 2


@record(frozen=True, slots=True, eq=False)
class Switch:
    """Gradients of a part that are switched."""

    part: Part
    #: None if it is not known which way
    on: bool | None
    #: all parameters of the part, and not those of them that a condition chooses
    whole: bool
    site: SourceSite
    context: Context
    index: int
    #: one element of the part, or several: it is not known which
    among: bool = False


def switches(facts: ModuleFacts, parts: Parts) -> list[Switch]:
    """All `p.requires_grad = ...` and `.requires_grad_(...)` of known parts, in the order of execution."""
    found: list[Switch] = []
    chooser = Chooser.of(facts, parts)
    for call in facts.methods("requires_grad_"):
        given = call.argument(0, "requires_grad")
        on = True if given is None and not call.opaque else _truth(given)
        found += _of(parts, chooser, call.receiver, (on, call.site, call.context, call.index))
    for item in facts.analysis.switched:
        found += _of(parts, chooser, item.owner, (_truth(item.value), item.site, item.context, item.index))
    found += _in_hooks(facts, parts)
    return sorted(found, key=lambda switch: switch.index)


def _in_hooks(facts: ModuleFacts, parts: Parts) -> Iterator[Switch]:
    """Those that a hook switches on."""
    wraps = facts.named(*DDP_PATHS)
    names = {name.rpartition(".")[2] for wrap in wraps for name in wrap.context.calls}
    for one in hook_switches.found(facts, names) if wraps else ():
        part = parts.part(one.network)
        if part is not None:
            inner = tuple(name for name in one.names if name != "module")
            yield Switch((part[0], (*part[1], *inner)), True, True, one.site, one.call.context, one.call.index)


def _truth(value: Value | None) -> bool | None:
    constant = value.constant if value is not None else None
    return constant if isinstance(constant, bool) else None


def _of(
    parts: Parts, chooser: Chooser, owner: Value | None, event: tuple[bool | None, SourceSite, Context, int]
) -> Iterator[Switch]:
    """The switch of a network, or of the parameters of one that a loop goes through."""
    on, site, context, index = event
    obj = owner.object if owner is not None else None
    whole = True
    if isinstance(obj, Made) and obj.path == PARAMETER:
        owner, whole = obj.args[0], not _chosen(context)
    chosen = chooser.chosen(owner, context) if owner is not None else None
    if chosen is not None:
        whole = whole and chosen.choice is not Choice.SOME and not (chosen.loop and _chooses(chosen.loop, context))
        yield Switch(chosen.part, on, whole, site, context, index, chosen.choice is Choice.SOME)
        return
    part = parts.part(owner) if owner is not None else None
    named = by_name(owner) if owner is not None and part is None else None
    if named is not None:
        # one of the parts, it is not known which: something in it is switched on, and perhaps nothing off
        part, on = parts.part(named[0]), on or None
    if part is not None:
        yield Switch(part, on, whole, site, context, index)


def _chosen(context: Context) -> bool:
    """Whether a condition inside the innermost loop decides which of its elements are meant."""
    return not context.loops or _chooses(context.loops[-1], context)


def _chooses(loop: EnclosingLoop, context: Context) -> bool:
    """Whether a condition inside a loop decides it."""
    around = loop.site
    return any(
        guard.site.file == around.file and around.line <= guard.site.line <= around.end_line for guard in context.guards
    )


def frozen(before: Iterable[Switch], part: Part) -> Frozen:
    """How much of a part is frozen after these switches."""
    state = Frozen.NOTHING
    for switch in before:
        if not contains(switch.part, part):
            continue
        if switch.whole or switch.on is None:
            state = Frozen.ALL if switch.on is False else Frozen.NOTHING
        elif switch.on is (state is Frozen.ALL):
            state = Frozen.SOME
    return state


def thaws(before: list[Switch], switch: Switch) -> bool:
    """Whether it certainly switches gradients on that these switches, before it, have left off."""
    if switch.on is not True:
        return False
    own = frozen(before, switch.part)
    inside = {other.part for other in before if contains(switch.part, other.part) and other.part != switch.part}
    if switch.among and any(other.on is True and other.site == switch.site for other in before):
        return False  # perhaps what is switched on already
    if switch.whole or switch.among:
        return own is not Frozen.NOTHING or any(frozen(before, part) is not Frozen.NOTHING for part in inside)
    return own is Frozen.ALL and all(frozen(before, part) is Frozen.ALL for part in inside)
