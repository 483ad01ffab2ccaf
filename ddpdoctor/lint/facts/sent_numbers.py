"""What is sent to other ranks and is surely a few numbers, such as the epoch to go on from, and no state."""

from __future__ import annotations

import ast

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import tensors
from ddpdoctor.lint.values import iteration
from ddpdoctor.lint.values.abstract_objects import External, Items, Made
from ddpdoctor.lint.values.values import WORLD, Value
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import walk

_OF_TENSOR = frozenset({"torch.distributed.broadcast", "torch.distributed.scatter"})
_OF_OBJECTS = "torch.distributed.broadcast_object_list"


def are_all(facts: ModuleFacts, call: CallEvent, senders: int) -> bool:
    """Whether a call sends nothing but numbers, or a parameter of a network; `senders`: the ranks that may have more to
    send, and the others begin with what they had before."""
    if call.path == _OF_OBJECTS:
        return _are_numbers(call.argument(0, "object_list"), senders)
    tensor = call.argument(0, "tensor")
    if call.path not in _OF_TENSOR or tensor is None:
        return False
    return _is_of_numbers(tensor) or _is_made_so(facts, call)


def _are_numbers(sent: Value | None, senders: int) -> bool:
    """Whether the other ranks hold a number for each object."""
    items = sent.object.items if sent is not None and isinstance(sent.object, Items) else ()
    rest = [rank for rank in range(WORLD) if not senders >> rank & 1]
    return bool(items and rest) and all(isinstance(item.at(rank), (int, float)) for item in items for rank in rest)


def _is_of_numbers(tensor: Value) -> bool:
    made = tensor.object
    if not isinstance(made, Made):
        return False
    if made.path.startswith(iteration.PARAMETER) or made.path in tensors.OF_NUMBERS:
        dtype = made.keyword("dtype")
        # bytes are what an object was turned into
        return not (dtype is not None and isinstance(dtype.object, External) and dtype.object.path == "torch.uint8")
    return made.path in tensors.OF_SIZE and bool(made.args) and all(size.known for size in made.args)


def _is_made_so(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether a variable that is sent is only ever a tensor of numbers, to which something may be added in place."""
    name = call.node.args[0] if call.node.args else None
    module = blocks.module_of(facts, call.site)
    if not isinstance(name, ast.Name) or module is None:
        return False
    scope = innermost_function(module.tree, call.site.line) or module.tree
    stored = [
        _unmoved(n.value) for n in walk(scope)
        if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name.id for t in n.targets)
        and n.lineno < call.site.line
    ]  # fmt: skip
    made = {id(c.node): c.result for c in facts.calls} if stored else {}
    return bool(stored) and all((one := made.get(id(value))) is not None and _is_of_numbers(one) for value in stored)


#: methods that give a tensor of the same numbers
_MOVING = frozenset({"to", "cuda", "cpu", "long", "int", "float"})


def _unmoved(node: ast.expr) -> ast.expr:
    """`torch.tensor(epoch)` of `torch.tensor(epoch).to(device)`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVING:
        node = node.func.value
    return node
