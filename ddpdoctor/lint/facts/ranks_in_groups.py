"""Ranks inside a group where torch takes those of the job."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.values.abstract_objects import GroupOf, Made
from ddpdoctor.lint.values.tags import ANY_RANK, Tag
from ddpdoctor.lint.values.values import EVERY_RANK, Taint, Value
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import FunctionNode, Module, once
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of

_NEW_GROUP = "torch.distributed.new_group"
_GET_RANK = "torch.distributed.get_rank"
_IN_GROUP = "torch.distributed.get_group_rank"


def is_of_several(facts: ModuleFacts, call: CallEvent, group: Value, node: ast.expr | None) -> bool:
    """Whether the program makes several groups of this kind, as far as its own code shows."""
    if _is_one(group):
        return True
    made = frozenset(id(c.node) for c in facts.named(_NEW_GROUP) if _is_one(c.result)) if node is not None else None
    return bool(made) and node is not None and _is_made_in_loop(
        facts, made or frozenset(), (*call.context.chain, call.site), node
    )  # fmt: skip


def _is_one(group: Value) -> bool:
    return isinstance(group.object, GroupOf) and group.object.several


def _is_made_in_loop(facts: ModuleFacts, made: frozenset[int], way: tuple[SourceSite, ...], node: ast.expr) -> bool:
    """Whether an expression at the end of the calls that lead there has what is kept of the groups that a loop makes:
    a variable, a parameter that the function is given it for, an attribute in which nothing else is stored."""
    module = blocks.module_of(facts, way[-1])
    function = innermost_function(module.tree, way[-1].line) if module is not None else None
    if isinstance(node, ast.Attribute):
        kept = _kept(facts, node.attr)
        return bool(kept) and all(_is_kept(made, _function_of(m, value), value) for m, value in kept)
    if module is None or function is None or not isinstance(node, ast.Name):
        return False
    if _is_kept(made, function, node):
        return True
    given = _given_for(facts, function, node.id, way[:-1])
    return given is not None and _is_made_in_loop(facts, made, way[:-1], given)


def _function_of(module: Module, node: ast.expr) -> FunctionNode | None:
    return innermost_function(module.tree, node.lineno)


def _is_kept(made: frozenset[int], function: ast.AST | None, node: ast.expr) -> bool:
    """Whether a variable of the function has what is kept of the groups that a loop makes: `if rank in ranks: mine =
    group`."""
    if function is None or not isinstance(node, ast.Name):
        return False
    given: dict[str, list[ast.expr]] = {}
    for statement in walk(function):
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    given.setdefault(target.id, []).append(statement.value)
    values = [value for value in given.get(node.id, ()) if not _is_none(value)]
    values = [v for value in values for v in (given.get(value.id, []) if isinstance(value, ast.Name) else [value])]
    return bool(values) and all(id(value) in made for value in values if not _is_none(value))


def _given_for(facts: ModuleFacts, function: FunctionNode, name: str, way: tuple[SourceSite, ...]) -> ast.expr | None:
    """What the last of the calls gives for a parameter which the function does not change."""
    module = blocks.module_of(facts, way[-1]) if way else None
    stored = any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in walk(function))
    if module is None or stored:
        return None
    caller = next((n for n in module.of(ast.Call) if site_of(module, n) == way[-1]), None)
    if caller is None or any(isinstance(argument, ast.Starred) for argument in caller.args):
        return None
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    bound = names[:1] in (["self"], ["cls"]) and isinstance(caller.func, ast.Attribute)
    given = dict(zip(names[1:] if bound else names, caller.args, strict=False))
    return next((k.value for k in caller.keywords if k.arg == name), given.get(name))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def is_for_all(call: CallEvent) -> bool:
    """Whether no condition on the rank leads to the call: each group that there is comes to it."""
    return call.context.mask == EVERY_RANK and not any(
        guard.value.taint is Taint.RANK or guard.value.tags & (ANY_RANK | Tag.IN_GROUP) or "rank" in guard.text.lower()
        for guard in call.context.guards
    )


def is_of_group(root: Value) -> bool:
    """Whether it is certainly a rank in a group: what `get_group_rank` gives."""
    return isinstance(root.object, Made) and root.object.path == _IN_GROUP


def is_counted_in_group(facts: ModuleFacts, call: CallEvent, root: Value, node: ast.expr | None) -> bool:
    """Whether it is this rank's number in a group, or one at a constant distance: its neighbour's."""
    by_group = bool(root.tags & Tag.IN_GROUP) and not root.tags & ANY_RANK and len(root.atoms) == 1
    info = call.context.function
    return by_group and node is not None and info is not None and _is_near(facts, info.node, node)


#: calls that give a number in a group
_GIVING_RANK = frozenset({"get_rank", "get_local_rank", "get_group_rank"})
#: variables that are followed to where they are given their values
_DEEPEST = 4


def _is_near(facts: ModuleFacts, function: ast.AST, node: ast.expr, depth: int = 0) -> bool:
    """Whether an expression is a rank but for a constant that is added, and what is left of a division."""
    if isinstance(node, ast.BinOp):
        apart = isinstance(node.op, (ast.Add, ast.Sub)) and isinstance(node.right, ast.Constant)
        return (apart or isinstance(node.op, ast.Mod)) and _is_near(facts, function, node.left, depth)
    if isinstance(node, ast.Call):
        return last_name(node.func) in _GIVING_RANK
    values: list[ast.expr] = []
    if isinstance(node, ast.Name):
        values = [value for name, value in _assigned(function) if name == node.id]
    elif isinstance(node, ast.Attribute):
        values = [value for _, value in _kept(facts, node.attr)]
    return bool(values) and depth < _DEEPEST and all(_is_near(facts, function, v, depth + 1) for v in values)


def _assigned(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Every variable and attribute that is given a value, and every argument that is given by name, with the value."""
    for node in walk(tree):
        if isinstance(node, ast.Assign):
            yield from ((last_name(target), node.value) for target in node.targets)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield last_name(node.target), node.value
        elif isinstance(node, ast.keyword) and node.arg is not None:
            yield node.arg, node.value


@once
def _stored(module: Module) -> dict[str, list[ast.expr]]:
    """All that a file gives to anything of a name, by the names."""
    found: dict[str, list[ast.expr]] = {}
    for name, value in _assigned(module.tree):
        found.setdefault(name, []).append(value)
    return found


def _kept(facts: ModuleFacts, attribute: str) -> list[tuple[Module, ast.expr]]:
    """What the program stores under the name of an attribute, but for constants."""
    modules = {m.path: m for m in (*facts.modules, *facts.imported)}
    return [
        (module, value)
        for module in modules.values()
        for value in (_stored(module).get(attribute, ()) if attribute in module.words else ())
        if not isinstance(value, ast.Constant) and last_name(value) != attribute
    ]


def is_kept_of_group(facts: ModuleFacts, node: ast.expr | None) -> bool:
    """Whether the program stores nothing under the name of an attribute but ranks in groups, and constants."""
    kept = _kept(facts, node.attr) if isinstance(node, ast.Attribute) else []
    return bool(kept) and all(_is_asked(module, value) for module, value in kept)


def _is_asked(module: Module, value: ast.expr, depth: int = 0) -> bool:
    """Whether it is what `get_group_rank` gives, perhaps in a variable that has nothing else but constants."""
    if isinstance(value, ast.Name) and depth < _DEEPEST:
        values = [v for v in _stored(module).get(value.id, ()) if not isinstance(v, ast.Constant)]
        return bool(values) and all(_is_asked(module, v, depth + 1) for v in values)
    return isinstance(value, ast.Call) and module.imported(value.func) == _IN_GROUP


def compared(facts: ModuleFacts, call: CallEvent, root: ast.expr | None, group: ast.expr | None) -> SourceSite | None:
    """Where the function compares what it passes as the root with its rank in a group, `dist.get_rank(group) == src`,
    that is a parameter which has to be given: hardly that of the job."""
    module = blocks.module_of(facts, call.site)
    function = innermost_function(module.tree, call.site.line) if module is not None else None
    if module is None or function is None or root is None or not isinstance(group, ast.Name):
        return None
    if not _has_to_be_given(function, group):
        return None
    nodes = walk(function)
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    if any(isinstance(n, ast.Name) and n.id in stored for n in (*walk(root), group)):
        return None
    place = next((node for node in nodes if _compares(module, nodes, node, (root, group))), None)
    return site_of(module, place) if place is not None else None


def _compares(module: Module, nodes: list[ast.AST], node: ast.AST, given: tuple[ast.expr, ast.Name]) -> bool:
    """Whether it compares this rank's number in the group, asked for here or in a variable, with the root."""
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
        return False
    root, group = given
    ranks = {n.targets[0].id for n in nodes if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
             and _asks_in(module, n.value, group.id)}  # fmt: skip
    sides = (node.left, node.comparators[0])
    return any(
        text_of(other) == text_of(root)
        and (_asks_in(module, one, group.id) or (isinstance(one, ast.Name) and one.id in ranks))
        for one, other in (sides, sides[::-1])
    )


def _has_to_be_given(function: FunctionNode, group: ast.Name) -> bool:
    """Whether the group is a parameter of the function without a default."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    needed = positional[: len(positional) - len(arguments.defaults)]
    needed += [a for a, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None]
    return any(argument.arg == group.id for argument in needed)


def _asks_in(module: Module, node: ast.expr, group: str) -> bool:
    """Whether it asks for the rank in this group."""
    if not isinstance(node, ast.Call) or module.imported(node.func) != _GET_RANK:
        return False
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return len(given) == 1 and text_of(given[0]) == group
