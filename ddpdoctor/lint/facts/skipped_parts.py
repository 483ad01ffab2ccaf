"""Parts of a network that are sharded by themselves, and that a rank calls only where its own data needs them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.facts.data_flow import DataFlow
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import fsdp
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases, heuristics
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import ClassInfo, FunctionInfo, Module
from ddpdoctor.program.nodes import last_name, names_in, parents, walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of


class Skipped(NamedTuple):
    """A condition on a rank's own data under which it calls a sharded part."""

    site: SourceSite
    #: the condition, as it is written
    text: str
    #: the attribute that holds the part, or the list of parts
    part: str
    call: SourceSite
    #: shards the part, if that is asked
    sharding: CallEvent | None


#: arguments of FSDP that choose the parts that are sharded by themselves, by their classes
_POLICIES = frozenset({"auto_wrap_policy", "transformer_layer_cls", "module_classes"})
_POLICY = "ModuleWrapPolicy"


def found(facts: ModuleFacts) -> Iterator[Skipped]:
    """The first of each part and method."""
    sharding = facts.named(aliases.FSDP, *fsdp.SHARDING)
    if not sharding:
        return
    names: dict[str, CallEvent] = {}
    for call in sharding:
        module = blocks.module_of(facts, call.site)
        if module is not None:
            names.update(dict.fromkeys(_sharded(module, call), call))
    for module in facts.modules if names else ():
        for cls in module.classes:
            if any(last_name(base).endswith("Module") for base in cls.node.bases):
                yield from _of_class(cls, names)


#: what holds parts of a network, which its methods call one by one
_HOLDING = frozenset({"ModuleList", "ModuleDict"})


def of_class(cls: ClassInfo) -> Iterator[Skipped]:
    """Parts of a network in lists, whether or not they are sharded, that a method calls where its data needs them."""
    init = cls.methods.get("__init__")
    made = (n for n in walk(init.node) if isinstance(n, ast.Assign)) if init is not None else ()
    held = {
        target.attr: None
        for node in made if isinstance(node.value, ast.Call) and last_name(node.value.func) in _HOLDING
        for target in node.targets if isinstance(target, ast.Attribute)
    }  # fmt: skip
    yield from _of_methods(cls, held)


def _sharded(module: Module, call: CallEvent) -> set[str]:
    """The attributes that hold what a call shards, and its classes."""
    names: set[str] = set()
    for keyword in call.node.keywords:
        if keyword.arg in _POLICIES:
            names |= _chosen(module)
    if call.node.args:
        names |= _named(module, call.node.args[0])
    return names


def _chosen(module: Module) -> set[str]:
    """The classes that a file's policies name."""
    given: list[ast.expr] = [k.value for k in module.of(ast.keyword) if k.arg in _POLICIES]
    given += [a for c in module.of(ast.Call) if last_name(c.func) == _POLICY for a in c.args]
    return {
        last_name(element) for value in given for shown in walk(value)
        if isinstance(shown, (ast.Set, ast.List, ast.Tuple)) for element in shown.elts
    }  # fmt: skip


def _named(module: Module, node: ast.expr) -> set[str]:
    """What a sharded object is: an attribute, an element of a list of parts, an object of a class."""
    if isinstance(node, ast.Subscript):
        return _named(module, node.value)
    if isinstance(node, ast.Call):
        # it may be moved in between: `FSDP(Expert(size).to(device))`
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        name = last_name(node.func)
        return _named(module, owner) if owner is not None and name[:1].islower() else {name}
    if isinstance(node, ast.Attribute):
        return {node.attr}
    return _looped(module, node) if isinstance(node, ast.Name) else set()


def _looped(module: Module, name: ast.Name) -> set[str]:
    """The lists that loops around a place go through by this name, and the classes that are asked for there."""
    scope = innermost_function(module.tree, name.lineno) or module.tree
    found: set[str] = set()
    for node in walk(scope):
        if isinstance(node, ast.For) and name.id in names_in(node.target) and _around(node, name):
            owners = {part.value for part in walk(node.iter) if isinstance(part, ast.Attribute)}
            found |= {n.attr for n in walk(node.iter) if isinstance(n, ast.Attribute) and n not in owners} - _GIVING
        elif isinstance(node, ast.Call) and last_name(node.func) == "isinstance" and len(node.args) == 2:
            tested, classes = node.args
            if last_name(tested) == name.id:
                found |= {last_name(part) for part in walk(classes)} - {""}
    return found


#: methods that give parts of a network, or pairs with them
_GIVING = frozenset({"modules", "named_modules", "children", "named_children", "values", "items", "model", "module"})


def _around(block: ast.For, node: ast.expr) -> bool:
    return block.lineno <= node.lineno <= (block.end_lineno or 0)


def _of_class(cls: ClassInfo, names: dict[str, CallEvent]) -> Iterator[Skipped]:
    """Parts of one network that its methods skip."""
    held: dict[str, CallEvent | None] = {name: names[name] for name in cls.stores if name in names}
    init = cls.methods.get("__init__")
    for node in walk(init.node) if init is not None else ():
        if isinstance(node, ast.Assign):
            made = next(
                (n for c in walk(node.value) if isinstance(c, ast.Call) and (n := last_name(c.func)) in names), ""
            )
            if made:
                held.update({t.attr: names[made] for t in node.targets if isinstance(t, ast.Attribute)})
    yield from _of_methods(cls, held)


def _of_methods(cls: ClassInfo, held: Mapping[str, CallEvent | None]) -> Iterator[Skipped]:
    for method in cls.methods.values() if held else ():
        if method.name != "__init__" and method.reads | method.marks:
            yield from _of_method(method, held)


def _of_method(method: FunctionInfo, held: Mapping[str, CallEvent | None]) -> Iterator[Skipped]:
    nodes = walk(method.node)
    used = {n.attr for n in nodes if isinstance(n, ast.Attribute)} & held.keys()
    source = "\n".join(method.module.lines[method.node.lineno - 1 : method.node.end_lineno])
    # the ranks may agree which parts any of them needs, or send their rows to the rank that has the part
    if not used or heuristics.BRINGS_TOGETHER.found_in(source):
        return
    around, flow = parents(nodes), DataFlow.of(method)
    for part in sorted(used):
        elements = _elements(nodes, part)
        calls = [n for n in nodes if isinstance(n, ast.Call) and _is_element(n.func, part, elements)]
        if len(calls) != 1:
            continue  # the other may be that of a rank that needs no part
        guard = _guard(calls[0], around, flow, part, elements)
        if guard is not None:
            module = method.module
            text = text_of(guard)
            yield Skipped(site_of(module, guard), text, part, site_of(module, calls[0]), held[part])


def _elements(nodes: list[ast.AST], part: str) -> set[str]:
    """The variables that hold an element of a list of parts."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, (ast.For, ast.comprehension)) and any(_is_attribute(n, part) for n in walk(node.iter)):
            found |= names_in(node.target)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
            found |= {n for t in node.targets if _is_attribute(node.value.value, part) for n in names_in(t)}
    return found


def _is_attribute(node: ast.AST, part: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == part


def _is_element(node: ast.AST, part: str, elements: set[str]) -> bool:
    """Whether it is the part, or an element of it."""
    if isinstance(node, ast.Subscript):
        node = node.value
    return _is_attribute(node, part) or (isinstance(node, ast.Name) and node.id in elements)


def _guard(
    call: ast.Call, around: dict[ast.AST, ast.AST], flow: DataFlow, part: str, elements: set[str]
) -> ast.expr | None:
    """The condition on the data that decides whether the call is made."""

    def named(block: list[ast.stmt]) -> bool:
        return any(_is_element(n, part, elements) for statement in block for n in walk(statement))

    node: ast.AST = call
    while (holder := around.get(node)) is not None and not isinstance(node, (ast.FunctionDef, ast.Lambda)):
        if isinstance(holder, (ast.If, ast.IfExp)) and node is not holder.test:
            other = _other_side(holder, node)
            if not named(other) and decides(holder.test, flow, runs=_is_body(holder, node)):
                return holder.test
        elif isinstance(holder, ast.For) and _goes_through_chosen(holder.iter, flow, part):
            return holder.iter
        left = (s for s in _left_before(holder, node) if decides(s.test, flow, runs=False) and not named(s.body))
        if (first := next(left, None)) is not None:
            return first.test
        node = holder
    return None


def _goes_through_chosen(over: ast.expr, flow: DataFlow, part: str) -> bool:
    """Whether a loop goes through what the data has chosen, and not through the parts."""
    return not any(_is_attribute(n, part) for n in walk(over)) and (flow.picks(over) or flow.measures(over))


def _is_body(holder: ast.If | ast.IfExp, node: ast.AST) -> bool:
    return node is holder.body if isinstance(holder, ast.IfExp) else node in holder.body


def _other_side(holder: ast.If | ast.IfExp, node: ast.AST) -> list[ast.stmt]:
    """The statements where the condition is decided the other way."""
    if isinstance(holder, ast.IfExp):
        return [ast.Expr(holder.orelse if node is holder.body else holder.body)]
    return holder.orelse if node in holder.body else holder.body


def _left_before(holder: ast.AST, node: ast.AST) -> Iterator[ast.If]:
    """The conditions before a statement of a loop or function under which the rest of it is left out."""
    for statement in holder.body if isinstance(holder, (ast.For, ast.FunctionDef)) else ():
        if statement is node:
            return
        if isinstance(statement, ast.If) and not statement.orelse and isinstance(statement.body[-1], _LEAVING):
            yield statement


_LEAVING = (ast.Continue, ast.Return, ast.Break)


def decides(test: ast.expr, flow: DataFlow, *, runs: bool) -> bool:
    """Whether the data alone may keep a rank from what runs where the test is true, or where it is false (`runs`)."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return decides(test.operand, flow, runs=not runs)
    if isinstance(test, ast.BoolOp):
        each = [decides(value, flow, runs=runs) for value in test.values]
        # `if synced or rows.any():` runs on all ranks where the job says so
        return all(each) if isinstance(test.op, ast.Or) == runs else any(each)
    return flow.measures(test)
