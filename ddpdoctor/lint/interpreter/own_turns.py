"""What grows with each turn of a loop that each rank leaves by its own data, and is longer on some ranks for that."""

from __future__ import annotations

from collections.abc import Mapping

from ddpdoctor.lint.interpreter.trace import BlockExit, Branch, Trace
from ddpdoctor.lint.values import containers
from ddpdoctor.lint.values.abstract_objects import Items, Listed, Made
from ddpdoctor.lint.values.tags import REASONS, Tags
from ddpdoctor.lint.values.truths import rank_local
from ddpdoctor.lint.values.values import Value, of_object
from ddpdoctor.model.record import replace

#: functions that add to a tensor what they are given beside it
_JOINING = frozenset({"torch.cat", "torch.concat", "torch.concatenate", "torch.hstack", "torch.vstack"})


def grown(before: Mapping[str, Value], carried: Mapping[str, Value], now: Mapping[str, Value], body: Trace) -> (
    dict[str, Value]
):  # fmt: skip
    """The variables that have an entry for each turn, as they are after the loop.

    Args:
        before: The variables before the loop.
        carried: As they are at the beginning of any turn.
        now: As they are at the end of a turn.
        body: What a turn does.
    """
    reasons = _leaving(body)
    found: dict[str, Value] = {}
    for name in (before.keys() & now.keys()) if reasons is not None else ():
        value = now[name]
        if reasons is None or value is carried[name]:
            continue
        if isinstance(value.object, Listed) and isinstance(before[name].object, (Items, Listed)):
            found[name] = containers.uneven(value, reasons)
        elif _joins(value.object, carried[name]):
            found[name] = _longer(value, reasons)
    return found


def _leaving(body: Trace) -> Tags | None:
    """Why a rank leaves the loop before others, None if none does."""
    for node in body:
        if isinstance(node, Branch):
            sides = (*node.then, *node.other)
            left = any(isinstance(inner, BlockExit) and inner.kind == "break" for inner in sides)
            if left and rank_local(node.truth):
                return node.tags & REASONS
            reasons = _leaving(sides)
            if reasons is not None:
                return reasons
    return None


def _joins(obj: object, carried: Value) -> bool:
    """Whether a tensor is what it was at the beginning of the turn, and more."""
    if not isinstance(obj, Made) or obj.path not in _JOINING or not obj.args:
        return False
    parts = obj.args[0].object
    return isinstance(parts, Items) and any(part.atoms == carried.atoms for part in parts.items)


def _longer(value: Value, reasons: Tags) -> Value:
    """A tensor of as many parts as there were turns."""
    made: Made = value.object
    parts = containers.uneven(of_object(Listed(made.site, value.with_object(None)), "turns", made.site), reasons)
    whole = replace(made, args=(parts, *made.args[1:]))
    return parts._replace(object=whole)
