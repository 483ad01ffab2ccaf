"""From a syntax tree to the index of its names. Nothing is evaluated here."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from ddpdoctor.program import options
from ddpdoctor.program.modules import Binding, ClassInfo, FunctionInfo, FunctionNode, Module
from ddpdoctor.program.nodes import last_name, walk, walk_by_kind

#: without it no comment is for ddpdoctor
MARK = "ddpdoctor:"
_IMPORTS = (ast.Import, ast.ImportFrom)


def build(path: str, name: str, text: str, tree: ast.Module) -> Module:
    """Index a parsed file. Iterative, because recursion would be as deep as the source is nested."""
    nodes, kinds = walk_by_kind(tree)
    imports: list[Any] = [node for node in nodes if node.__class__ in _IMPORTS]
    is_package = path.endswith("__init__.py")
    module = Module(path, name, text, tree, text.split("\n"), nodes, kinds, is_package, annotated=MARK in text)
    for statement in imports:
        _index_import(module, statement)
    _index_everywhere(module)
    _index_top_level(module)
    return module


def release(module: Module) -> None:
    """Break the reference cycles of a module's index once it is no longer needed.

    Otherwise only Python's garbage collector frees its memory, and lint seldom lets it run.
    """
    for cls in module.classes:
        for index in (cls.methods, cls.constants, cls.stores):
            index.clear()
    for found in (module.nodes, module.kinds, module.bindings, module.functions, module.classes, module.assigned,
                  module.attribute_stores, module.options, module.answers):  # fmt: skip
        found.clear()


def _index_everywhere(module: Module) -> None:
    """Names, options and what is stored, wherever in the file they stand."""
    words = module.words
    words.update([node.id for node in module.of(ast.Name)])
    words.update([node.attr for node in module.of(ast.Attribute)])
    words.update([node.arg for node in module.of(ast.keyword) if node.arg is not None])
    module.options = options.by_dest(module.of(ast.Call), options.renamed_in(module.of(ast.Assign)))
    _index_rebound(module)


def _index_rebound(module: Module) -> None:
    stores = [n for n in module.of(ast.Attribute) if n.ctx.__class__ is ast.Store]
    module.stores = sorted(stores, key=attrgetter("lineno"))
    module.stored = [node.lineno for node in module.stores]
    for node in module.of(ast.Global):
        module.rebound.update(node.names)
    for assign in module.of(ast.Assign):
        for target in assign.targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                module.attribute_stores.setdefault((target.value.id, target.attr), []).append(assign.value)
                if target.value.id not in ("self", "cls"):
                    module.given.add(target.attr)


def _index_import(module: Module, node: ast.Import | ast.ImportFrom) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            local = alias.asname or alias.name.partition(".")[0]
            module.imports.setdefault(local, alias.name if alias.asname else local)
            module.words.update(alias.name.split("."))
        return
    base = _absolute(module, node)
    for alias in node.names:
        module.words.add(alias.name)
        if alias.name == "*":
            module.stars.append(base)
        else:
            module.imports.setdefault(alias.asname or alias.name, member(base, alias.name))


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    return relative(node.level, node.module or "", module.name, package=module.is_package)


def member(base: str, name: str) -> str:
    """The dotted name of a module's member; `base` may be empty, or only dots."""
    return f"{base}.{name}" if base.rstrip(".") else f"{base}{name}"


def relative(dots: int, target: str, name: str, *, package: bool) -> str:
    """The absolute name of a relative import in the module `name`; still relative if that module is in no
    such package.
    """
    parts = name.split(".")
    drop = dots - (1 if package else 0)
    if drop > len(parts):
        return "." * dots + target
    parts = parts[: len(parts) - drop] if drop else parts
    return ".".join([*parts, target] if target else parts)


#: statements that hold others, without functions and classes
_BLOCKS = frozenset({
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match,
    getattr(ast, "TryStar", ast.Try),
})  # fmt: skip


def top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when the module is imported, including those in blocks, not those in functions
    and classes.
    """
    stack = list(reversed(body))
    while stack:
        statement = stack.pop()
        yield statement
        if statement.__class__ not in _BLOCKS:
            continue
        for name in ("finalbody", "orelse", "handlers", "body", "cases"):
            inner = getattr(statement, name, None)
            for item in reversed(inner or ()):
                if isinstance(item, ast.stmt):
                    stack.append(item)
                else:
                    stack.extend(reversed(item.body))


def _index_top_level(module: Module) -> None:
    for statement in top_level(module.tree.body):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            info = function(module, statement)
            module.functions.append(info)
            _bind(module, statement.name, info)
        elif isinstance(statement, ast.ClassDef):
            cls = class_(module, statement)
            module.classes.append(cls)
            _bind(module, statement.name, cls)
        elif isinstance(statement, ast.Assign):
            made = _named_tuple(module, statement.value)
            for target in statement.targets:
                if made is not None and isinstance(target, ast.Name):
                    _bind(module, target.id, made)
                else:
                    _bind_target(module, target, statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            _bind_target(module, statement.target, statement.value)
        elif isinstance(statement, (ast.AugAssign, ast.For, ast.AsyncFor)):
            _bind_target(module, statement.target, None)


def _named_tuple(module: Module, value: ast.expr) -> ClassInfo | None:
    """The class that `namedtuple("Place", "rank local_rank")` makes."""
    if not isinstance(value, ast.Call) or len(value.args) != 2 or not isinstance(value.func, (ast.Name, ast.Attribute)):
        return None
    if last_name(value.func) != "namedtuple":
        return None
    try:
        name, given = map(ast.literal_eval, value.args)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None
    fields = given.replace(",", " ").split() if isinstance(given, str) else given
    if not isinstance(name, str) or not isinstance(fields, (list, tuple)):
        return None
    if not all(isinstance(f, str) and f.isidentifier() for f in fields):
        return None
    anything = ast.Name("object", ast.Load())
    body: list[ast.stmt] = [ast.AnnAssign(ast.Name(f, ast.Store()), anything, None, 1) for f in fields]
    node = ast.ClassDef(name, [ast.Name("NamedTuple", ast.Load())], [], body, [])
    for made in (node, *body):
        ast.copy_location(made, value)
    return ClassInfo(name, node, module)


def _bind_target(module: Module, target: ast.expr, value: ast.expr | None, part: int | None = None) -> None:
    if isinstance(target, ast.Name):
        _bind(module, target.id, value, part)
    elif isinstance(target, (ast.Tuple, ast.List)):
        pairs = value.elts if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts) else None
        whole = value if part is None and not any(isinstance(e, ast.Starred) for e in target.elts) else None
        for index, element in enumerate(target.elts):
            _bind_target(module, element, pairs[index] if pairs else whole, None if pairs else index)


def _bind(
    module: Module, name: str, value: ast.expr | FunctionInfo | ClassInfo | None, part: int | None = None
) -> None:
    module.bindings.setdefault(name, []).append(Binding(value, part))


def function(module: Module, node: FunctionNode | ast.Lambda, owner: ClassInfo | None = None) -> FunctionInfo:
    """The info of a def or lambda at any depth."""
    if isinstance(node, ast.Lambda):
        return FunctionInfo("<lambda>", node, module, owner)
    # a nested function is defined again each time the function around it is simulated
    outer: frozenset[str] | None = node.__dict__.get("_outer")
    if outer is None:
        declared = (s for s in top_level(node.body) if isinstance(s, (ast.Global, ast.Nonlocal)))
        outer = node.__dict__["_outer"] = frozenset(name for statement in declared for name in statement.names)
    return FunctionInfo(node.name, node, module, owner, outer)


def class_(module: Module, node: ast.ClassDef) -> ClassInfo:
    """The info of a class at any depth."""
    info = ClassInfo(node.name, node, module)
    for statement in top_level(node.body):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            method = function(module, statement, info)
            known = info.methods.get(statement.name)
            # a property's setter has the property's name; reads call the getter
            if known is None or not any(isinstance(d, ast.Attribute) for d in statement.decorator_list):
                info.methods[statement.name] = method
            _index_stores(info, method)
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    info.constants[target.id] = statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value and isinstance(statement.target, ast.Name):
            info.constants[statement.target.id] = statement.value
    return info


def _index_stores(info: ClassInfo, method: FunctionInfo) -> None:
    parameters = method.parameters
    if "register_buffer" in info.module.words and parameters:
        for node in walk(method.node):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "register_buffer" and node.args:
                name = node.args[0]
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    info.stores.setdefault(name.value, []).append(method)
    if not parameters:
        return
    me, lines = parameters[0].arg, info.module.stored
    first = bisect_left(lines, method.node.lineno)
    for node in info.module.stores[first : bisect_right(lines, method.node.end_lineno or 0, first)]:
        if isinstance(node.value, ast.Name) and node.value.id == me:
            users = info.stores.setdefault(node.attr, [])
            if method not in users:
                users.append(method)
