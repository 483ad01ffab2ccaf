"""Tensors that are changed in place: a flag that this rank's data sets differs on other ranks from then on."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter import container_mutation
from ddpdoctor.lint.interpreter.frame import Frame, decided_by
from ddpdoctor.lint.interpreter.invocations import FunctionCall, MethodCall
from ddpdoctor.lint.interpreter.overwrites import overwrite
from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.lint.values.abstract_objects import Made, Method
from ddpdoctor.lint.values.tags import DATA, NO_TAGS, REASONS, Tag
from ddpdoctor.lint.values.values import Taint, Value, join_tags, symbol

#: methods that give a tensor like the one they belong to, or its memory
_ALIKE = frozenset({
    "cuda", "cpu", "to", "float", "double", "half", "long", "int", "bool", "clone", "detach", "contiguous", "type",
    "view", "reshape", "squeeze", "unsqueeze",
})  # fmt: skip
_FILLED = vocabulary.TENSORS | vocabulary.ARRAYS
#: external functions that look at a tensor, and change nothing
_LOOKING = ("torch.", "builtins.", "logging.", "numpy.", "wandb.", "warnings.")


def is_tensor(value: Value) -> bool:
    """Whether it was made by a function that fills a tensor with numbers, and at most moved since."""
    obj = value.object
    while isinstance(obj, Method) and obj.name in _ALIKE:
        obj = obj.receiver.object
    return isinstance(obj, Made) and obj.path in _FILLED


def changed(frame: Frame, node: ast.AST, owner: Value, *given: Value) -> Value | None:
    """The tensor after a change that `node` makes to it with these values; None if it is none, or if nothing of this
    rank's own decides on the change."""
    reduced = owner.taint is Taint.UNIFORM and not owner.known and owner.object is None
    if not reduced and not is_tensor(owner):
        return None
    apart = decided_by(frame, node)
    own = [value for value in given if value.taint is Taint.RANK_LOCAL]
    if apart is None and not own:
        return None
    why = (apart & REASONS | Tag.LOCAL_CHOICE if apart is not None else NO_TAGS) | join_tags(own) & DATA
    atom = symbol("changed in place", owner.atoms, id(node), taint=Taint.RANK_LOCAL)
    return owner._replace(atoms=(atom,), taint=Taint.RANK_LOCAL, tags=owner.tags | why)


def by_method(call: MethodCall, owner: ast.expr) -> None:
    """Bind the tensor, written as `owner`, anew after a method that changes it: `flag.fill_(1)`."""
    if call.name.endswith("_") and not call.name.startswith("_"):
        after = changed(call.frame, call.node, call.receiver, *call.args)
        if after is not None:
            container_mutation.rebind(call.machine, call.frame, owner, after)


def handed_out(call: FunctionCall | MethodCall) -> None:
    """Nothing is known any more of a changed tensor after a call of something unknown whose result nobody takes: it
    may have reduced it in place."""
    if isinstance(call, FunctionCall) and call.path.startswith(_LOOKING):
        return
    for argument, value in zip(call.node.args, call.args, strict=False):
        if value.taint is Taint.RANK_LOCAL and is_tensor(value):
            overwrite(call.frame, argument, Taint.UNKNOWN)
