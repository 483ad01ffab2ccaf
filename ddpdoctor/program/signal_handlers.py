"""Flags that signal handlers set, with the handlers found by their registration in the file."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.model.record import field, record
from ddpdoctor.program.modules import FunctionNode, Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of

#: methods that change their object: an Event, a list, a set, a queue
_CHANGING = frozenset({"set", "append", "add", "extend", "put", "put_nowait", "appendleft"})
#: depth to which calls of a handler are followed
_DEPTH = 2

#: (`stop`,), or (`state`, `stop`) for `state["stop"]` and `state.stop`; an attribute of `self` begins with the class
#: name
FlagPath = tuple[str, ...]


@record(frozen=True, slots=True)
class Flag:
    """A variable, attribute or object that a handler sets or changes."""

    file: str
    #: as written in the program
    text: str
    #: the function that handles the signal, `lambda` if it has no name
    handler: str
    #: only handlers set it to anything other than an initial value (False, None, 0 or empty)
    alone: bool
    #: lines in which a variable of an enclosing function is visible; None for a variable of the module
    scope: range | None = None


@record(eq=False, slots=True)
class Flags:
    """The flags that one file's handlers set."""

    by_path: dict[FlagPath, Flag] = field(default_factory=dict)
    #: attributes of objects that the handler got from elsewhere, such as `self.trainer.should_stop`
    elsewhere: dict[str, Flag] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.by_path or self.elsewhere)


#: those of a file without any
NO_FLAGS = Flags()


def of_module(module: Module) -> Flags:
    """The flags that signal handlers in this file set; computed once."""
    known: Flags | None = module.flags
    if known is None:
        asks = "add_signal_handler" in module.words or "signal" in module.words
        known = module.flags = (asks and _read(module)) or NO_FLAGS
    return known


def handlers_of(module: Module) -> list[FunctionNode | ast.Lambda]:
    """The functions of this file that run when a signal arrives, without those that they call."""
    if not {"add_signal_handler", "signal"} & module.words:
        return []
    installed = [call.args[1] for call in module.of(ast.Call) if _installs(module, call)]
    functions = list(_functions(module.tree, "", ())) if installed else []
    found: list[FunctionNode | ast.Lambda] = []
    for given in installed:
        if isinstance(given, ast.Lambda):
            found.append(given)
            continue
        name, owner = _called(given, _class_around(functions, given))
        found += [node for node, of, _ in functions if node.name == name and owner in ("", of) and node not in found]
    return found


def path_of(node: ast.expr, me: str = "", owner: str = "") -> FlagPath:
    """`state["stop"]` and `state.stop` as their parts; empty for an expression without such a path. `me` is read as
    `owner`.
    """
    parts: list[str] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            parts.append(str(node.slice.value))
        else:
            return ()
        node = node.value
    return (owner if node.id == me and me else node.id, *reversed(parts))


@record(frozen=True, slots=True)
class _Handler:
    """A function that runs when a signal arrives."""

    node: FunctionNode | ast.Lambda
    name: str
    #: the class that it is a method of, "" if none
    owner: str
    #: its name for that class's instance
    me: str


#: a function, the class that it is a method of, the functions that it stands in
_Function = tuple[FunctionNode, str, tuple[FunctionNode, ...]]


@record(eq=False, slots=True)
class _Reading:
    """One file, and what has been found of its handlers."""

    module: Module
    functions: list[_Function]
    handlers: list[_Handler] = field(default_factory=list)
    #: what handlers set -> its text, the handler's name, the lines in which a variable of a function is seen
    sets: dict[FlagPath, tuple[str, str, range | None]] = field(default_factory=dict)


def _read(module: Module) -> Flags:
    reading = _Reading(module, list(_functions(module.tree, "", ())))
    for call in module.of(ast.Call):
        if _installs(module, call):
            _install(reading, call.args[1])
    for handler in reading.handlers:
        for path, text in _sets(handler):
            scope = _scope(_outer(reading.functions, handler), path)
            reading.sets.setdefault(path, (text, handler.name, scope))
    return _flags(reading)


def _flags(reading: _Reading) -> Flags:
    module, functions = reading.module, reading.functions
    inside = {id(node) for handler in reading.handlers for node in walk(handler.node)}
    others = {path for node in module.nodes if id(node) not in inside for path in _sets_otherwise(functions, node)}
    flags = Flags()
    for path, (text, name, scope) in reading.sets.items():
        flag = Flag(module.path, text, name, path not in others, scope)
        if len(path) > 2:
            flags.elsewhere[path[-1]] = flag
        else:
            flags.by_path[path] = flag
    return flags


def _functions(node: ast.AST, owner: str, outer: tuple[FunctionNode, ...]) -> Iterator[_Function]:
    """Every function of the file with the class that it is a method of, and the functions around it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield child, owner, outer
            yield from _functions(child, "", (*outer, child))
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, child.name, outer)
        elif not isinstance(child, ast.expr):
            yield from _functions(child, owner, outer)


def _installs(module: Module, node: ast.Call) -> bool:
    if len(node.args) < 2:
        return False
    asynchronous = isinstance(node.func, ast.Attribute) and node.func.attr == "add_signal_handler"
    return asynchronous or module.imported(node.func) == "signal.signal"


def _install(reading: _Reading, given: ast.expr) -> None:
    """Record what is registered as a handler: functions, or the setting method of an Event."""
    if isinstance(given, ast.Call) and given.args and reading.module.imported(given.func) == "functools.partial":
        given = given.args[0]
    if isinstance(given, ast.Lambda):
        _follow(reading, _handler(reading.functions, given, "lambda"), _DEPTH)
        return
    around = _class_around(reading.functions, given)
    name, owner = _called(given, around)
    found = [f for f, o, _ in reading.functions if f.name == name and owner in ("", o)]
    for handler in [_handler(reading.functions, f, name) for f in found]:
        _follow(reading, handler, _DEPTH)
    if not found and isinstance(given, ast.Attribute) and given.attr in _CHANGING:
        path = path_of(given.value, "self", around)
        if path:
            inside = _functions_around(reading.functions, given)
            reading.sets[path] = (text_of(given.value), text_of(given), _scope(inside, path))


def _called(given: ast.expr, around: str) -> tuple[str, str]:
    """Name of the function that is given, and its class where that is known: objects are called by `__call__`."""
    if isinstance(given, ast.Name) and given.id in ("self", "cls"):
        return "__call__", around
    if isinstance(given, ast.Call):
        return "__call__", last_name(given.func)
    return last_name(given), ""


def _class_around(functions: list[_Function], node: ast.expr | ast.stmt) -> str:
    """The class whose method a node stands in, "" for others."""
    return next((o for f, o, _ in functions if o and f.lineno <= node.lineno <= (f.end_lineno or 0)), "")


def _functions_around(functions: list[_Function], node: ast.expr) -> tuple[FunctionNode, ...]:
    return tuple(f for f, _, _ in functions if f.lineno <= node.lineno <= (f.end_lineno or 0))


def _handler(functions: list[_Function], node: FunctionNode | ast.Lambda, name: str) -> _Handler:
    """The handler for a method, or for a function inside one, which can use the method's instance."""
    for function, owner, _ in reversed(functions):
        if owner and function.lineno <= node.lineno <= (function.end_lineno or 0):
            first = function.args.args[:1]
            return _Handler(node, name, owner, first[0].arg if first else "")
    return _Handler(node, name, "", "")


def _follow(reading: _Reading, handler: _Handler, depth: int) -> None:
    """The handler and the functions of the file that it calls."""
    if depth == 0 or any(known.node is handler.node for known in reading.handlers):
        return
    reading.handlers.append(handler)
    called = {last_name(node.func) for node in walk(handler.node) if isinstance(node, ast.Call)}
    for function, _, _ in reading.functions:
        if function.name in called:
            _follow(reading, _handler(reading.functions, function, handler.name), depth - 1)


def _sets(handler: _Handler) -> Iterator[tuple[FlagPath, str]]:
    """The flags that a handler sets or changes."""
    nodes = walk(handler.node)
    outer = {name for node in nodes if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
    local = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} - outer
    local.update(a.arg for a in handler.node.args.args if a.arg != handler.me)
    for node in nodes:
        target = _changed(node)
        if target is None:
            continue
        path = path_of(target, handler.me, handler.owner)
        if path and (path[0] in outer or path[0] not in local):
            yield path, text_of(target)


def _changed(node: ast.AST) -> ast.expr | None:
    """The variable, attribute or element that a node sets, or the object that it changes."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        return node if isinstance(node.ctx, ast.Store) else None
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
        return node.func.value
    if last_name(node.func) == "setattr" and len(node.args) == 3 and isinstance(node.args[1], ast.Constant):
        return ast.copy_location(ast.Attribute(node.args[0], str(node.args[1].value), ast.Store()), node)
    return None


def _outer(functions: list[_Function], handler: _Handler) -> tuple[FunctionNode, ...]:
    """The functions around a handler, outermost first."""
    if isinstance(handler.node, ast.Lambda):
        return _functions_around(functions, handler.node)
    return next(outer for function, _, outer in functions if function is handler.node)


def _scope(outer: tuple[FunctionNode, ...], path: FlagPath) -> range | None:
    """The lines of the function that owns the variable; None if the module or a class owns it."""
    for function in reversed(outer):
        names = {n.id for n in walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        if path[0] in names:
            return range(function.lineno, (function.end_lineno or function.lineno) + 1)
    return None


def _sets_otherwise(functions: list[_Function], node: ast.AST) -> Iterator[FlagPath]:
    """What a statement outside handlers sets to something other than an initial value."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) or node.value is None or _is_off(node.value):
        return
    owner = _class_around(functions, node)
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        path = path_of(target, "self", owner)
        if path:
            yield path


def _is_off(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return not value.value
    if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
        return not value.elts
    return isinstance(value, ast.Call) and last_name(value.func) in (
        "Event",
        "Queue",
        "SimpleQueue",
        "deque",
        "list",
        "set",
    )
