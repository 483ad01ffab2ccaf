"""Objects that ranks receive from another, and whether these may put them into something that has a state."""

from __future__ import annotations

import ast

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.values import containers
from ddpdoctor.lint.values.abstract_objects import Table
from ddpdoctor.lint.values.values import Value, symbol_key

#: give other ranks copies of objects, and change nothing else of what these have
_OF_OBJECTS = frozenset({
    "torch.distributed.broadcast_object_list", "torch.distributed.scatter_object_list",
    "torch.distributed.all_gather_object", "torch.distributed.gather_object",
})  # fmt: skip
#: methods that put no state into their object, or into what they are given
_PLAIN = frozenset({"step", "zero_grad", "state_dict", "add_param_group", "get_last_lr", "unscale_", "update", "scale"})


def are_left_unused(facts: ModuleFacts, sent: CallEvent, owner: Value, receivers: int) -> bool:
    """Whether a call sends objects, and the ranks that receive them do nothing afterwards that could change the state
    of `owner`: what they received stays a number to go on from."""
    if sent.path not in _OF_OBJECTS or any(n.attr == "state" for m in facts.modules for n in m.of(ast.Attribute)):
        return False
    key = symbol_key(owner)
    later = (c for c in facts.calls if c.index > sent.index and c.context.mask & receivers)
    return key is not None and not any(_may_change(call, key) for call in later)


def _may_change(call: CallEvent, key: int) -> bool:
    """Whether it loads a state into what may be that object, or hands the object to code that lint does not see."""
    receiver = call.receiver
    own = receiver is not None and symbol_key(receiver) == key
    if call.method == "load_state_dict":
        return own or receiver is None or receiver.object is None
    if call.method in _PLAIN or call.path.startswith("torch."):
        return False
    return own or any(_holds(value, key) for value in (*call.args, *(v for _, v in call.keywords)))


def _holds(value: Value, key: int) -> bool:
    """Whether it is the object, or a container that has it."""
    obj = value.object
    parts = [v for _, v in obj.entries] if isinstance(obj, Table) else containers.parts_of(value) or ()
    return symbol_key(value) == key or any(symbol_key(part) == key for part in parts)
