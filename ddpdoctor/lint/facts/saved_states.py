"""The states of networks in checkpoints: under which key each is saved, with the wrapper's prefix or without, and
under which one is loaded."""

from __future__ import annotations

import ast

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.values.abstract_objects import Made, Table
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Value
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import walk

#: the key of a state that is the whole file, and of those whose keys are not known
WHOLE, SOME = "", "*"
#: methods that give what a dict has under a key
_TAKES = ("get", "pop")


def states(saved: Value | None) -> list[tuple[str, Made]]:
    """The results of `state_dict()` in a saved object, by key."""
    if saved is None:
        return []
    obj, values = saved.object, [(WHOLE, saved)]
    if isinstance(obj, Table):
        values = [*obj.entries, *([(SOME, obj.rest)] if obj.rest is not None else [])]
    return [(k, v.object) for k, v in values if isinstance(v.object, Made) and v.object.path == "?.state_dict"]


def by_key(facts: ModuleFacts) -> tuple[dict[str, Made], dict[str, Made]]:
    """The saved states of networks inside of wrappers, and those of wrappers."""
    bare: dict[str, Made] = {}
    wrapped: dict[str, Made] = {}
    for call in (*facts.named("torch.save"), *facts.methods("save")):
        for key, made in states(call.args[0] if call.args else None):
            network = made.args[0] if made.args else None
            if network is not None:
                (bare if _is_bare(network) else wrapped)[key] = made
    return bare, wrapped


def _is_bare(network: Value) -> bool:
    """Whether it is the network inside of a wrapper: `ddp.module`, or `unwrap_model(model)`."""
    made = network.object
    return bool(network.tags & Tag.INNER) or (isinstance(made, Made) and made.path.endswith(".unwrap_model"))


def key_of(call: CallEvent) -> str | None:
    """The key under which the argument of a call was in a loaded file; None if it is not known, or was the file."""
    given = call.node.args[0] if call.node.args else None
    scope = innermost_function(call.context.module.tree, call.site.line) or call.context.module.tree
    for _ in range(2):
        if isinstance(given, ast.Name):
            name = given.id
            values = [n.value for n in walk(scope) if isinstance(n, ast.Assign)
                      and any(isinstance(t, ast.Name) and t.id == name for t in n.targets)]  # fmt: skip
            given = next((v for v in values if _key(v) is not None), None)
    return _key(given) if given is not None else None


def _key(node: ast.expr) -> str | None:
    """The key of `checkpoint["model"]` and `checkpoint.get("model")`."""
    key: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        key = node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        key = node.args[0] if node.func.attr in _TAKES else None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
