"""The path that a call is given: of what it is made, and whether it is the same on every rank."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from keyword import iskeyword

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import filesystem, frameworks, heuristics, vocabulary
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import ANY_RANK, MADE_UP, Tag
from ddpdoctor.lint.values.values import Value
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import Module, once
from ddpdoctor.program.nodes import last_name, names_in, walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import expression_of, text_of


def path_of(call: CallEvent) -> tuple[Value | None, ast.expr | None]:
    """The path that a function of the table is given, or whose method is called, and its expression."""
    if call.path == filesystem.OPEN:
        return call.argument(0, "file"), argument_of(call.node, 0, "file")
    row = filesystem.function(call.path) if call.path else None
    if row is not None:
        return call.argument(row.position, row.name), argument_of(call.node, row.position, row.name)
    if call.method in filesystem.OF_PATHS and isinstance(call.node.func, ast.Attribute):
        return call.receiver, call.node.func.value
    if len(call.node.args) > 1 and len(call.args) > 1:
        return call.args[1], call.node.args[1]
    return None, None


def argument_of(node: ast.Call, position: int, keyword: str) -> ast.expr | None:
    if position < len(node.args):
        return node.args[position]
    return next((k.value for k in node.keywords if k.arg == keyword), None)


def one_path(facts: ModuleFacts, call: CallEvent, path: Value, node: ast.expr | None, *, found: bool = False) -> bool:
    """Whether the path is equal on every rank and node: nothing that it is made of names a process or a moment.

    `found`: it was found in a folder that all ranks have listed.
    """
    if len(path.atoms) > 1 or path.tags & (ANY_RANK | Tag.IN_GROUP | MADE_UP) or path.taint > path.taint.FILES:
        return False
    if path.object is not None and getattr(path.object, "path", "").startswith(("io.", "tempfile.")):
        return False
    if path.known:
        return isinstance(path.constant, str) and not heuristics.OWN_PATH.found_in(path.constant)
    if node is None:
        return False
    text = " ".join(spelled_out(call, part) for part in (_origins(call, node) if found else [node]))
    known = vocabulary.PATH_FUNCTIONS | (vocabulary.FINDING if found else frozenset())
    if heuristics.OWN_PATH.found_in(text) or not all(
        _makes_path(call.context.module, name, found=found) for name in set(_called(text)) - known
    ):
        return False
    return not heuristics.NAMES_RANK.found_in_any(given_for(facts, call, node))


def _makes_path(module: Module, name: str, *, found: bool = False) -> bool:
    """Whether a function of the file makes a path out of settings, the same in every process, or finds some in a folder
    and gives them back, sorted out by their names."""
    return _is_plain(module, name) or (found and _is_finding(module, name))


@once
def _is_plain(module: Module, name: str) -> bool:
    return _calls_only(module, name, vocabulary.PATH_FUNCTIONS)


@once
def _is_finding(module: Module, name: str) -> bool:
    return _calls_only(module, name, vocabulary.PATH_FUNCTIONS | vocabulary.FINDING | vocabulary.COLLECTING)


def _calls_only(module: Module, name: str, known: frozenset[str]) -> bool:
    """Whether functions of this name call nothing else, and name no process."""
    texts = [text_of(statement) for body in _bodies(module, name) for statement in body]
    own = {node.name for node in module.of(ast.ClassDef)}
    return bool(texts) and not any(
        heuristics.OWN_PATH.found_in(text) or set(_called(text)) - known - own for text in texts
    )


def _bodies(module: Module, name: str) -> list[list[ast.stmt]]:
    """The statements of the functions of this name, without what they are said to do."""
    functions = (node for node in module.of(ast.FunctionDef) if node.name == name)
    return [node.body[1:] if ast.get_docstring(node, clean=False) else node.body for node in functions]


@once
def _assigned(module: Module) -> dict[str, tuple[ast.Assign, ...]]:
    """The assignments to each name of a file, and to each attribute as it is written: `configs.train.path`."""
    found: dict[str, tuple[ast.Assign, ...]] = {}
    for node in module.of(ast.Assign):
        for target in node.targets:
            if isinstance(target, (ast.Name, ast.Attribute)):
                name = text_of(target)
                found[name] = (*found.get(name, ()), node)
    return found


#: variables that are followed, one in the value of another
_DEEPEST = 3


def spelled_out(call: CallEvent, node: ast.expr) -> str:
    """The expression's source, with that of the variables in it that the call can see: of its function, and of the
    file.
    """
    return " ".join(expressions(call, node))


def expressions(call: CallEvent, node: ast.expr, depth: int = _DEEPEST) -> list[str]:
    """The source of the expression, and of those that its variables are assigned."""
    return _spelled(call.context.module, _function(call), node, depth)


def _spelled(module: Module, function: ast.AST | None, node: ast.expr, depth: int) -> list[str]:
    parts = [text_of(node)]
    counting = _counting(module, node)
    for name in _variables(node) - counting if depth else ():
        for value in _values(module, function, name):
            parts += _spelled(module, function, value, depth - 1)
    return parts


def _counting(module: Module, node: ast.expr) -> set[str]:
    """The variables in an expression of which only a counter is used, whatever made the object that keeps it:
    `counts["steps"]`, where there is a `counts["steps"] += 1`."""
    entries = [n for n in walk(node) if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)]
    counted = {text_of(n.target) for n in module.of(ast.AugAssign)} if entries else set[str]()
    return {entry.value.id for entry in entries if isinstance(entry.value, ast.Name) and text_of(entry) in counted}


def _variables(node: ast.expr) -> set[str]:
    """The variables and attributes in an expression: of `options.folder` the folder matters, not how the options were
    made, and of `self.plans.name` the name. Methods are called on the text or path itself: `self.folder.joinpath(...)`.
    """
    attributes = [n for n in walk(node) if isinstance(n, ast.Attribute)]
    methods = {id(n.func) for n in walk(node) if isinstance(n, ast.Call)}
    owners = {id(n.value) for n in attributes}
    settings = {id(n.value) for n in attributes if id(n) not in methods and n.attr not in vocabulary.PARTS_OF_PATHS}
    names = {n.id for n in walk(node) if isinstance(n, ast.Name) and id(n) not in owners}
    return names | {text_of(n) for n in attributes if id(n) not in settings}


def assigned(call: CallEvent, name: str) -> list[ast.expr]:
    """What the variable is assigned where the call can see it: in its function, and in the file."""
    return list(_values(call.context.module, _function(call), name))


def _values(module: Module, function: ast.AST | None, name: str) -> Iterator[ast.expr]:
    for statement in _assigned(module).get(name, ()):
        # an attribute is read in other functions than the one that sets it
        if "." in name or innermost_function(module.tree, statement.lineno) in (function, None):
            yield statement.value


def given_for(facts: ModuleFacts, call: CallEvent, node: ast.expr) -> list[str]:
    """The source of the arguments that the function was given for the variables in the expression, by the call of it
    that led here."""
    module, given = arguments(facts, call)
    if module is None:
        return []
    around = innermost_function(module.tree, call.context.chain[-1].line)
    # the name of a parameter is often that of a variable in it
    wanted = {name for text in expressions(call, node) for name in _names(text)}
    texts = (_spelled(module, around, value, _DEEPEST) for name, value in given.items() if name in wanted)
    return [text for parts in texts for text in parts]


_STARTING = frozenset(path.rpartition(".")[2] for path in (*frameworks.SPAWNING, *frameworks.PROCESSES))


def arguments(facts: ModuleFacts, call: CallEvent) -> tuple[Module | None, dict[str, ast.expr]]:
    """The arguments that the function around was given, by the call of it that led here, and the file of that call."""
    if call.context.function is None or not call.context.chain:
        return None, {}
    site = call.context.chain[-1]
    module = blocks.module_of(facts, site)
    caller = next((n for n in module.of(ast.Call) if _at(n, site)), None) if module is not None else None
    # what starts processes is not given the arguments by the names that they have in the function
    if caller is None or last_name(caller.func) in _STARTING:
        return None, {}
    names = [parameter.arg for parameter in call.context.function.parameters]
    if call.context.function.owner is not None and isinstance(caller.func, ast.Attribute):
        names = names[1:]
    return module, {**dict(zip(names, caller.args, strict=False)), **{k.arg: k.value for k in caller.keywords if k.arg}}


def _at(node: ast.Call, site: SourceSite) -> bool:
    return (node.lineno, node.end_lineno) == (site.line, site.end_line) and node.col_offset + 1 == site.column


#: what lists a folder, as a function or a method of a path
_LISTING = frozenset({"glob", "iglob", "rglob", "listdir", "scandir", "iterdir"})


def numbered(call: CallEvent, node: ast.expr | None) -> bool:
    """Whether the path contains a number that is counted from what is in a folder: `len(os.listdir(folder))`."""
    if node is None:
        return False
    parts = filter(None, map(expression_of, expressions(call, node)))
    counts = (
        n for part in parts for n in walk(part) if isinstance(n, ast.Call) and last_name(n.func) in ("len", "max")
    )
    return any(isinstance(n, ast.Call) and last_name(n.func) in _LISTING for count in counts for n in walk(count))


def listings(call: CallEvent, node: ast.expr | None) -> list[ast.Call]:
    """What lists the folders in which the path was found: `for old in glob(pattern): os.remove(old)`, also in a
    function of the file that gives what it has found there."""
    parts = _origins(call, node) if node is not None else []
    called = [n for part in parts for n in walk(part) if isinstance(n, ast.Call)]
    module = call.context.module
    helpers = {last_name(n.func) for n in called} - vocabulary.PATH_FUNCTIONS - vocabulary.FINDING
    bodies = [body for name in helpers if _is_finding(module, name) for body in _bodies(module, name)]
    called += [n for body in bodies for statement in body for n in walk(statement) if isinstance(n, ast.Call)]
    return [n for n in called if last_name(n.func) in _LISTING]


def _origins(call: CallEvent, node: ast.expr) -> list[ast.expr]:
    """The expression, and all that its variables are assigned, or that a loop around the call takes them from."""
    module, function = call.context.module, _function(call)
    loops = [loop.node for loop in call.context.loops if isinstance(loop.node, ast.For)]
    found, seen = [node], set[str]()
    for part in found:
        for name in names_in(part) - seen:
            seen.add(name)
            found += _values(module, function, name)
            found += (loop.iter for loop in loops if name in _names(text_of(loop.target)))
    return found


def _called(text: str) -> Iterator[str]:
    """Names of functions that are called in a source text."""
    for part in text.split("(")[:-1]:
        name = part.rstrip()
        start = len(name)
        while start and (name[start - 1].isalnum() or name[start - 1] == "_"):
            start -= 1
        if name[start:] and not iskeyword(name[start:]):  # `found and (folder / "done").exists()`
            yield name[start:]


def _function(call: CallEvent) -> ast.AST | None:
    return innermost_function(call.context.module.tree, call.site.line)


def of_sample(facts: ModuleFacts, call: CallEvent, node: ast.expr | None) -> bool:
    """Whether the path is made of a loop's variable that does not count, or of what is called a user, a client or a
    sample: of data which may be this rank's own."""
    if node is None:
        return False
    if any(heuristics.OF_ONE_SAMPLE.found_in(name) for name in _made_of(facts, call, node)):
        return True
    text = _names(spelled_out(call, node))
    for loop in call.context.loops:
        obj = loop.over.object if loop.over is not None else None
        counts = isinstance(obj, Made) and obj.path in ("builtins.range", "itertools.count")
        if not counts and text & _names(loop.target) and not heuristics.COUNTS_EPOCHS.found_in(loop.target):
            return True
    return False


def _made_of(facts: ModuleFacts, call: CallEvent, node: ast.expr) -> Iterator[str]:
    """The variables that a path is made of in the function of a call, and in those that led there what they gave."""
    texts, function = expressions(call, node), _function(call)
    for site in reversed(call.context.chain):
        yield from _plain(texts)
        module = blocks.module_of(facts, site)
        caller = next((n for n in module.of(ast.Call) if _at(n, site)), None) if module is not None else None
        if module is None or caller is None or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return
        wanted = set(_plain(texts))
        given = _by_name(function, caller)
        if any(keyword.arg is None for keyword in caller.keywords):
            # what is handed on as `**options` keeps its names
            given = {**{name: ast.Name(name) for name in wanted}, **given}
        function = innermost_function(module.tree, site.line)
        texts = [text for n, v in given.items() if n in wanted for text in _spelled(module, function, v, _DEEPEST)]
    yield from _plain(texts)


def _plain(texts: list[str]) -> Iterator[str]:
    """The variables in source texts; of an attribute it is the object that has it which is not meant."""
    for tree in filter(None, map(expression_of, texts)):
        owners = {id(n.value) for n in walk(tree) if isinstance(n, ast.Attribute)}
        yield from (n.id for n in walk(tree) if isinstance(n, ast.Name) and id(n) not in owners)


def _by_name(function: ast.FunctionDef | ast.AsyncFunctionDef, caller: ast.Call) -> dict[str, ast.expr]:
    """The arguments of a call by the names that they have in the function."""
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    if names[:1] == ["self"] and isinstance(caller.func, ast.Attribute):
        names = names[1:]
    return {**dict(zip(names, caller.args, strict=False)), **{k.arg: k.value for k in caller.keywords if k.arg}}


def _names(text: str) -> set[str]:
    """The words of a source text that can be names of variables."""
    return {
        word for word in "".join(c if c.isalnum() or c == "_" else " " for c in text).split() if word.isidentifier()
    }
