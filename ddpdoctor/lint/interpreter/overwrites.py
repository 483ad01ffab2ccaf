"""What a collective writes into its arguments: known under every name that the tensor goes by."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from ddpdoctor.lint.interpreter.frame import Frame, Reset
from ddpdoctor.lint.values import containers
from ddpdoctor.lint.values.abstract_objects import Items, Listed, Table
from ddpdoctor.lint.values.tags import DATA, NO_TAGS, ORIGIN, Tag, Tags
from ddpdoctor.lint.values.values import Symbol, Taint, Value, unknown

#: methods whose result usually shares the tensor's memory
_VIEWS = frozenset({"detach", "view", "view_as", "squeeze", "unsqueeze", "flatten", "reshape", "contiguous"})
#: functions and methods that hand on the elements of what they are given, or belong to
_HANDING_ON = frozenset({"enumerate", "zip", "list", "tuple", "reversed", "sorted"})
_OF_DICTS = frozenset({"values", "items"})


def overwrite(frame: Frame, argument: ast.expr, taint: Taint = Taint.UNIFORM, tags: Tags = NO_TAGS) -> None:
    """Give the variable what a collective wrote to it: a value that is equal on every rank, or of another `taint`, with
    the `tags` that say how it differs."""
    behind = _same_memory(argument)
    if behind is not None:
        overwrite(frame, behind, taint, tags)
    if isinstance(argument, (ast.List, ast.Tuple)):
        for element in argument.elts:
            overwrite(frame, element, taint, tags)
    if isinstance(argument, ast.Starred):
        overwrite(frame, argument.value, taint, tags)
    if isinstance(argument, ast.Attribute) and isinstance(argument.value, ast.Name):
        owner = frame.env.get(argument.value.id)
        atom = owner.atoms[0] if owner is not None and len(owner.atoms) == 1 else None
        if isinstance(atom, Symbol):
            frame.stores[(atom.key, argument.attr)] = unknown("reduced", id(argument), taint=taint, tags=tags)
    if isinstance(argument, ast.Name):
        for name in {argument.id, *_aliases(frame, frame.env.get(argument.id))}:
            _overwrite_name(frame, name, unknown("reduced", id(argument), name, taint=taint, tags=tags))


def reduced_to_root(frame: Frame, argument: ast.expr) -> None:
    """Give the variable what a sum for one rank alone leaves in it: the sum on that rank, and what is none on the
    others."""
    overwrite(frame, argument, Taint.RANK_LOCAL, Tag.OF_ROOT | Tag.GIVEN)


def _overwrite_name(frame: Frame, name: str, value: Value) -> None:
    before = frame.env.get(name)
    of_root = value.tags & Tag.OF_ROOT
    kept = before.tags & (DATA if of_root else ORIGIN) if before is not None else NO_TAGS
    frame.env[name] = value.tagged(kept)
    if not of_root:
        frame.overwritten[name] = value.taint
    if _is_given(frame, name):
        frame.resets[name] = Reset(of_root=bool(of_root))


def overwrite_elements(frame: Frame, holder: ast.expr, taint: Taint = Taint.UNIFORM) -> None:
    """The same for each tensor in a list or dict; what is iterated over and holds none, as a loader, stays."""
    value = frame.env.get(holder.id) if isinstance(holder, ast.Name) else None
    if isinstance(holder, (ast.List, ast.Tuple)) or (value and isinstance(value.object, (Items, Listed, Table))):
        overwrite(frame, holder, taint)
    if isinstance(holder, ast.Name) and _is_given(frame, holder.id):
        frame.resets[holder.id] = Reset(of_elements=True)


def _is_given(frame: Frame, name: str) -> bool:
    return frame.function is not None and name in frame.function.signature.bound


def _aliases(frame: Frame, value: Value | None) -> Iterator[str]:
    """Other names of a tensor of this rank, or of the tensors in a list."""
    if value is None:
        return
    for part in containers.parts_of(value) or ():
        yield from _aliases(frame, part)
    if value.taint is Taint.RANK_LOCAL and len(value.atoms) == 1:
        yield from (name for name, other in frame.env.items() if other.atoms == value.atoms)


def _same_memory(argument: ast.expr) -> ast.expr | None:
    """The tensor whose memory `loss.data` or `loss.detach()` shares."""
    if isinstance(argument, ast.Attribute) and argument.attr == "data":
        return argument.value
    if isinstance(argument, ast.Call) and isinstance(argument.func, ast.Attribute) and argument.func.attr in _VIEWS:
        return argument.func.value
    return None


def elements(frame: Frame, target: ast.expr, over: ast.expr, outer: Mapping[str, Taint]) -> None:
    """After a loop: what was written to its variable was written to each of the elements that it went through.

    `outer`: what was overwritten before the loop, when `frame.overwritten` began anew.
    """
    own = frame.overwritten
    frame.overwritten = {**outer, **own}
    taints = [own[name] for name in _names(target) if name in own]
    if taints:
        for holder in _holders(over):
            overwrite_elements(frame, holder, max(taints))


def in_comprehension(
    frame: Frame, generators: Sequence[ast.comprehension], inner: Mapping[str, Value], outer: Mapping[str, Taint]
) -> None:
    """After a comprehension, whose variables were `inner`: what was written to those from outside of it stays."""
    own = {name for generator in generators for name in _names(generator.target)}
    frame.env.update({name: inner[name] for name in frame.overwritten if name in frame.env and name not in own})
    for generator in generators:
        elements(frame, generator.target, generator.iter, outer)


def _names(target: ast.expr) -> Iterator[str]:
    return (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _holders(over: ast.expr) -> Iterator[ast.expr]:
    """What holds the elements: `tensors` of `enumerate(tensors)` and of `tensors.values()`."""
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id in _HANDING_ON:
        for argument in over.args:
            yield from _holders(argument)
    elif isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in _OF_DICTS:
        yield over.func.value
    else:
        yield over
