"""What a program writes to a file: the settings of the run, copies of its source, and nothing at all, are the same from
every rank.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ddpdoctor.lint.facts import paths, saved_states, touched_files
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import filesystem, heuristics
from ddpdoctor.lint.knowledge.filesystem import Use
from ddpdoctor.lint.values.tags import MODEL, Tag
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of

#: methods that put what the object holds into a file
_OWN = frozenset({"save_pretrained", "dump"})
#: writes settings
_SAVED = "omegaconf.OmegaConf.save"
_COPIES = frozenset({"shutil.copy", "shutil.copy2", "shutil.copyfile"})
#: functions that put their first argument into the file that is their second
_DUMPS = frozenset({"dump", "safe_dump", "dump_all"})
#: functions and methods that give the settings in another form
_FORMS = frozenset({
    "dumps", "dump", "safe_dump", "vars", "dict", "list", "str", "repr", "sorted", "items", "copy", "deepcopy",
    "asdict", "to_dict", "to_json", "to_yaml", "to_container", "pformat", "format", "join", "_get_kwargs",
})  # fmt: skip
#: sizes of the job, the same on every rank
_SIZES = frozenset({"get_world_size", "device_count", "len", "int", "float", "bool"})
#: variables that are followed, one in the value of another
_DEEPEST = 3


def of_settings(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether all that the call writes, or that is written to what an `open` gives, is made of the program's settings,
    or copied from its files."""
    if call.method in _OWN and isinstance(call.node.func, ast.Attribute):
        return heuristics.SETTINGS.found_in(last_name(call.node.func.value))
    if call.path == _SAVED:
        return True
    if call.path in _COPIES and call.node.args:
        return heuristics.PROGRAM_FILES.found_in(paths.spelled_out(call, call.node.args[0]))
    written = of_file(call)
    _, given = paths.arguments(facts, call)
    return bool(written) and all(_settings(_Place(call, given), content, _DEEPEST) for content in written)


def of_file(call: CallEvent) -> list[ast.expr]:
    """What is written to the file that an `open` gives."""
    return [content for node in _uses(call) for content in _contents(node)]


def written_by(call: CallEvent) -> list[ast.expr]:
    """All that a call writes, or that is written to what an `open` gives."""
    if call.path == filesystem.OPEN:
        return of_file(call)
    own = [call.node.func.value] if isinstance(call.node.func, ast.Attribute) and call.method else []
    return [*own, *call.node.args, *(keyword.value for keyword in call.node.keywords)]


def lies_on_cpu(call: CallEvent) -> bool:
    """Whether a few tensors are written by name that were fetched to the CPU one by one: of a network that all ranks
    share they are the same bytes, and small."""
    given = call.node.args[0] if call.node.args else None
    values = paths.assigned(call, given.id) if isinstance(given, ast.Name) else [given]
    return bool(values) and all(
        isinstance(value, ast.Dict) and bool(value.values) and all(map(_is_fetched, value.values)) for value in values
    )


def holds_optimizer(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the state of an optimizer is in what is written, by its name: a checkpoint from which the job goes on."""
    if not call.node.args:
        return False
    parts = _parts(call, facts, call.node.args[0])
    return any(map(_names_optimizer, (node for part in parts for node in walk(part))))


def holds_state(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the state of a network or an optimizer is in what a call writes, or a network itself: of one that ranks
    train together it is the same on all of them."""
    if call.method == "save_pretrained" or (call.method == "save" and call.receiver is not None):
        return True
    saved = call.args[0] if call.args else None
    if saved is None or not call.node.args:
        return False
    if saved_states.states(saved) or saved.tags & (MODEL | Tag.PREPARED | Tag.INNER):
        return True
    return any(_asks_state(node) for part in _parts(call, facts, call.node.args[0]) for node in walk(part))


def _asks_state(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == "state_dict"


def _parts(call: CallEvent, facts: ModuleFacts, content: ast.expr) -> list[ast.expr]:
    """The expression of what is written, with those that its variables are assigned or the function is given."""
    _, given = paths.arguments(facts, call)
    parts = [content]
    for node in walk(content):
        if isinstance(node, ast.Name):
            parts += [*paths.assigned(call, node.id), *([given[node.id]] if node.id in given else [])]
    return parts


def _names_optimizer(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "state_dict":
        return False
    return heuristics.RESUMED.found_in(last_name(node.func.value))


def _is_fetched(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and last_name(value.func) in _FETCHING and not value.args


#: methods that give what a tensor holds on the CPU
_FETCHING = frozenset({"cpu", "numpy", "tolist", "item"})


def stays_empty(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether an `open` makes a file into which nothing is ever written, such as one that is locked: however many ranks
    make it, it is the same."""
    mode = call.argument(1, "mode") if call.path == filesystem.OPEN else None
    if mode is None or mode.constant not in ("w", "wb", "a", "ab") or not _leaves_empty(call):
        return False
    touched = touched_files.touches(facts)
    parts = next((touch.parts for touch in touched if touch.call is call), None)
    return parts is not None and not any(
        touch.parts == parts and touch.use in _WRITES and not _leaves_empty(touch.call) for touch in touched
    )


_WRITES = frozenset({Use.WRITES_FILE, Use.MOVES, Use.FILLS})


def _leaves_empty(call: CallEvent) -> bool:
    """Whether an opened file is closed without any use of it."""
    module = call.context.module
    for user in module.of(ast.Call):
        if isinstance(user.func, ast.Attribute) and user.func.value is call.node:
            return user.func.attr == "close"
    for block in module.of(ast.With):
        item = next((item for item in block.items if item.context_expr is call.node), None)
        if item is not None:
            name = item.optional_vars.id if isinstance(item.optional_vars, ast.Name) else ""
            used = (node for statement in block.body for node in walk(statement) if isinstance(node, ast.Name))
            return item.optional_vars is None or (bool(name) and all(node.id != name for node in used))
    return False


class _Place(NamedTuple):
    """Where the file is written, and what the function around was given by name."""

    call: CallEvent
    given: Mapping[str, ast.expr]


def _uses(call: CallEvent) -> Iterator[ast.AST]:
    """The block that is entered with the file: `with open(...) as f:`, or the call that it is passed to."""
    module = call.context.module
    for block in module.of(ast.With):
        if any(item.context_expr is call.node for item in block.items):
            yield from walk(block)
    for user in module.of(ast.Call):
        if call.node in user.args:
            yield user


def _contents(node: ast.AST) -> Iterator[ast.expr]:
    if not isinstance(node, ast.Call) or not node.args:
        return
    name = last_name(node.func)
    if name == "write" or (name in _DUMPS and len(node.args) > 1):
        yield node.args[0]


def _settings(at: _Place, node: ast.expr, depth: int) -> bool:
    """Whether an expression is made of settings and constants alone."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        return _named(at, node, depth)
    if isinstance(node, ast.Call):
        return _form(at, node, depth)
    parts_of = _PARTS.get(type(node))
    parts = parts_of(node) if parts_of is not None else []
    # what begins empty is filled with what the program finds
    return bool(parts) and all(_settings(at, part, depth) for part in parts)


def _named(at: _Place, node: ast.Name | ast.Attribute | ast.Subscript, depth: int) -> bool:
    if heuristics.NAMES_RANK.found_in(text_of(node)):
        return False
    if heuristics.SETTINGS.found_in(text_of(node)):
        return True
    if not isinstance(node, ast.Name) or not depth:
        return False
    values = paths.assigned(at.call, node.id) or [at.given[name] for name in (node.id,) if name in at.given]
    return bool(values) and all(_settings(at, value, depth - 1) for value in values)


def _form(at: _Place, node: ast.Call, depth: int) -> bool:
    """Whether a call gives settings in another form, or a size of the job."""
    name = last_name(node.func)
    if name in _SIZES:
        return True
    of = node.func.value if isinstance(node.func, ast.Attribute) else None
    given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg is None)]
    if isinstance(of, (ast.Constant, ast.Name)) and given:
        of = None  # a module, or a text that is filled in
    return name in _FORMS and all(_settings(at, part, depth) for part in (*given, *([of] if of is not None else [])))


#: the parts of which the expressions are made that settings are written with, by kind
_PARTS: dict[type[ast.expr], Callable[[Any], list[ast.expr]]] = {
    ast.Dict: lambda node: [part for part in (*node.keys, *node.values) if part is not None],
    ast.List: lambda node: node.elts,
    ast.Tuple: lambda node: node.elts,
    ast.BinOp: lambda node: [node.left, node.right],
    ast.UnaryOp: lambda node: [node.operand],
    ast.BoolOp: lambda node: node.values,
    ast.Compare: lambda node: [node.left, *node.comparators],
    ast.IfExp: lambda node: [node.test, node.body, node.orelse],
    ast.JoinedStr: lambda node: [part.value for part in node.values if isinstance(part, ast.FormattedValue)],
    ast.DictComp: lambda node: [part.iter for part in node.generators],
    ast.ListComp: lambda node: [part.iter for part in node.generators],
    ast.GeneratorExp: lambda node: [part.iter for part in node.generators],
}
