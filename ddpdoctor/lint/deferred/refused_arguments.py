"""Where a call of a project's own function or class passes arguments that it does not take, which is an error. Pure."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ddpdoctor.lint.deferred.called_functions import Defined
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import FUNCTIONS
from ddpdoctor.program.modules import FunctionNode
from ddpdoctor.program.nodes import last_name

#: base classes that leave it to a class which arguments it takes
_PLAIN_BASES = frozenset({"object", "Module", "Dataset", "IterableDataset", "LightningModule"})


def refusal(call: ast.Call, called: Mapping[str, Defined]) -> str:
    """What a function or a constructor does not take of a call, or lacks; "" if it takes it or that cannot be told.

    Args:
        call: The call.
        called: The project's own functions and classes by the names by which the program calls them.
    """
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    parameters = _taken(called[name].node) if name in called else None
    said = _refused(parameters, call) if parameters is not None else ""
    return f"{name} {said}" if said else ""


class _Parameters(NamedTuple):
    """What a function takes."""

    #: those that may be passed by position, in their order
    positional: tuple[str, ...]
    #: those that may be passed by name
    named: frozenset[str]
    required: frozenset[str]
    more_positional: bool
    more_named: bool


def _taken(node: FunctionNode | ast.ClassDef) -> _Parameters | None:
    """What a function or the constructor of a class takes; None if that cannot be told."""
    if not isinstance(node, ast.ClassDef):
        return _parameters(node, bound=0)
    plain = not node.keywords and _PLAIN_BASES.issuperset(map(last_name, node.bases))
    methods = {one.name: one for one in node.body if isinstance(one, FUNCTIONS)}
    constructor = methods.get("__init__")
    if not plain or constructor is None or constructor.decorator_list or "__new__" in methods:
        return None
    return _parameters(constructor, bound=1)


def _parameters(function: FunctionNode, *, bound: int) -> _Parameters:
    """What a function takes beside those of its first arguments that the language passes."""
    told = function.args
    places = [*told.posonlyargs, *told.args]
    without = places[bound : len(places) - len(told.defaults)]
    needed = (one for one, given in zip(told.kwonlyargs, told.kw_defaults, strict=True) if given is None)
    return _Parameters(
        tuple(one.arg for one in places)[bound:],
        frozenset(one.arg for one in (*told.args, *told.kwonlyargs)),
        frozenset(one.arg for one in (*without, *needed)),
        told.vararg is not None,
        told.kwarg is not None,
    )


def _refused(parameters: _Parameters, call: ast.Call) -> str:
    names = [keyword.arg for keyword in call.keywords]
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    strange = [one for one in names if one is not None and one not in parameters.named]
    if strange and not parameters.more_named:
        return f"takes no {strange[0]}"
    places = parameters.positional
    if len(call.args) > len(places) and not parameters.more_positional and not starred:
        return f"takes {len(places)} arguments by position, of which {len(call.args)} are passed"
    # what is unpacked may be any of them
    lacking = parameters.required - {*places[: len(call.args)], *filter(None, names)}
    return f"is not passed {min(lacking)}" if lacking and not starred and None not in names else ""
