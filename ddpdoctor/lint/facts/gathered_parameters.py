"""What is gathered by DeepSpeed's `GatheredParameters`, and what a block writes into it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.model.record import field, record
from ddpdoctor.program.nodes import children, last_name, walk
from ddpdoctor.program.text import text_of

#: attributes and methods that give another view of the same memory
_VIEWS = frozenset({"data", "T", "view", "view_as", "narrow", "select", "squeeze", "unsqueeze", "t", "detach"})
#: methods that end in an underscore and change no value
_KEEPING = frozenset({"requires_grad_", "detach_", "retain_grad_", "share_memory_"})
#: methods of a module that write its parameters
_FILLING = frozenset({"load_state_dict", "reset_parameters"})
#: calls that hand on what they are given
_LISTING = frozenset({"list", "tuple"})
_PARAMETERS = frozenset({"parameters", "named_parameters"})


@record(eq=False, slots=True)
class Gathered:
    """What is gathered, as the source writes it."""

    parameters: set[str] = field(default_factory=set)
    #: networks all of whose parameters are gathered
    networks: set[str] = field(default_factory=set)
    #: what can be iterated over, and gives them
    lists: set[str] = field(default_factory=set)

    def add(self, expr: ast.expr, assigned: dict[str, ast.expr]) -> None:
        """Add what one argument names; `assigned`: variables of the function that are assigned once."""
        if isinstance(expr, (ast.List, ast.Tuple)):
            for element in expr.elts:
                self.add(element, {})
        elif isinstance(expr, ast.Call):
            name = last_name(expr.func)
            if name in _LISTING and len(expr.args) == 1:
                self.add(expr.args[0], assigned)
            elif name in _PARAMETERS and isinstance(expr.func, ast.Attribute):
                self.lists.add(text_of(expr))
                # those of the parts are not gathered: `parameters(recurse=False)`
                if not expr.args and not expr.keywords:
                    self.networks.add(text_of(expr.func.value))
        elif isinstance(expr, (ast.Name, ast.Attribute, ast.Subscript)):
            self.lists.add(text_of(expr))
            if not heuristics.SEVERAL_PARAMETERS.found_in(text_of(expr)):
                self.parameters.add(text_of(expr))
            if isinstance(expr, ast.Name) and expr.id in assigned:
                self.add(assigned[expr.id], {})

    def holds(self, expr: ast.AST) -> bool:
        """Whether an expression is a gathered parameter, a part or a view of one."""
        while True:
            if text_of(expr) in self.parameters or self._is_of_network(expr):
                return True
            if isinstance(expr, ast.Subscript):
                if text_of(expr.value) in self.lists:
                    return True
                expr = expr.value
            elif _is_view(expr) and isinstance(expr, ast.Attribute):
                expr = expr.value
            elif isinstance(expr, ast.Call) and _is_view(expr.func):
                expr = expr.func
            else:
                return False

    def _is_of_network(self, expr: ast.AST) -> bool:
        """Whether it is called as parameters are: a network also has buffers, which are not gathered."""
        if not isinstance(expr, ast.Attribute) or not expr.attr.endswith(("weight", "bias")):
            return False
        return any(text_of(expr).startswith(f"{network}.") for network in self.networks)


def _is_view(expr: ast.AST) -> bool:
    return isinstance(expr, ast.Attribute) and expr.attr in _VIEWS


def writes(gathered: Gathered, body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Where a block writes into what is gathered."""
    nodes = [node for statement in body for node in _run(statement)]
    for node in nodes:
        if isinstance(node, (ast.For, ast.comprehension)):
            _go_through(gathered, node.target, node.iter)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            _name(gathered, node.targets[0], node.value)
    for node in nodes:
        stored = any(_is_written(gathered, target) for target in _targets(node))
        if stored or (isinstance(node, ast.Call) and _fills(gathered, node)):
            yield node


def _run(statement: ast.AST) -> Iterator[ast.AST]:
    """The statement and what is in it, but for functions that it only defines."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
        return
    yield statement
    for child in children(statement):
        yield from _run(child)


def _go_through(gathered: Gathered, target: ast.expr, over: ast.expr) -> None:
    """`for p in params`, `for p, q in zip(params, others)`, `for name, p in net.named_parameters()`."""
    if isinstance(over, ast.Call) and last_name(over.func) == "zip" and isinstance(target, ast.Tuple):
        for part, other in zip(target.elts, over.args, strict=False):
            _go_through(gathered, part, other)
        return
    if isinstance(over, ast.Call) and last_name(over.func) == "enumerate" and isinstance(target, ast.Tuple):
        target, over = target.elts[-1], over.args[0]
    if isinstance(target, ast.Tuple):
        named = isinstance(over, ast.Call) and last_name(over.func) == "named_parameters"
        target = target.elts[-1] if named else target
    network = over.func.value if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) else None
    own = network is not None and _gives_parameters(over) and text_of(network) in gathered.networks
    if isinstance(target, ast.Name) and (own or text_of(over) in gathered.lists):
        gathered.parameters.add(target.id)


def _gives_parameters(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Call) and last_name(expr.func) in _PARAMETERS


def _name(gathered: Gathered, name: ast.Name, value: ast.expr) -> None:
    """Another name of a parameter; a name that is given to something else is none of one."""
    if isinstance(value, (ast.Name, ast.Attribute)) and gathered.holds(value):
        gathered.parameters.add(name.id)
    else:
        gathered.parameters.discard(name.id)


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AugAssign) else []


def _is_written(gathered: Gathered, target: ast.expr) -> bool:
    """`weight[rows] = ...`, `weight.data = ...`"""
    if isinstance(target, ast.Subscript):
        return gathered.holds(target.value)
    return isinstance(target, ast.Attribute) and target.attr == "data" and gathered.holds(target.value)


def _fills(gathered: Gathered, call: ast.Call) -> bool:
    """`weight.copy_(...)`, `init.normal_(weight)`, `net.load_state_dict(...)`"""
    name = last_name(call.func)
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    in_place = name.endswith("_") and not name.startswith("_") and name not in _KEEPING
    if owner is not None and name in _FILLING:
        text = text_of(owner)
        return any(text == network or text.startswith(f"{network}.") for network in gathered.networks)
    if not in_place:
        return False
    if owner is not None and gathered.holds(owner):
        return True
    initialises = owner is None or last_name(owner) == "init"
    return initialises and bool(call.args) and gathered.holds(call.args[0])


def assigned_once(scope: ast.AST) -> dict[str, ast.expr]:
    """Variables of a function that one statement assigns, and nothing else binds."""
    stores: dict[str, int] = {}
    found: dict[str, ast.expr] = {}
    for node in walk(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stores[node.id] = stores.get(node.id, 0) + 1
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node.value
    return {name: value for name, value in found.items() if stores.get(name) == 1}
