"""Whether a command gives a program the options of its command line on which a line of it depends. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from ddpdoctor.lint.deferred.handed_on import hands_on
from ddpdoctor.lint.deferred.needed_settings import Needed, Settings, needed_at, option
from ddpdoctor.lint.knowledge import frameworks, vocabulary
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program import indexing, source
from ddpdoctor.program.enclosing import FUNCTIONS, innermost_function
from ddpdoctor.program.modules import FunctionNode, Module
from ddpdoctor.program.nodes import decorator_name, last_name, walk
from ddpdoctor.program.options import Option

#: by the name under which a program reads them
Options = Mapping[str, Sequence[Option]]


class Asked(NamedTuple):
    """Options of which one has to be given, or what the line does does not happen."""

    #: the names under which the program reads them
    dests: tuple[str, ...]
    #: how they may be called in a command, without dashes
    names: frozenset[str]


def asked_at(raw: bytes, first: int, last: int) -> list[Asked]:
    """The options that are read in these lines of a file, and those without which they do not run; not those that the
    program sets itself."""
    module = module_of(raw)
    if module is None:
        return []
    called = {call.func for call in module.of(ast.Call)}
    lines = (node for node in module.of(ast.Attribute) if first <= node.lineno <= last and node not in called)
    read = set(filter(None, map(option, lines))) - _set_in(module)
    needed = ({one.name} for one in needed_at(module.tree, first, options_as_settings(given_in(module))))
    return [_asked(module, dests) for dests in (read, *needed) if dests]


def given_in(module: Module) -> Options:
    """The options that a file declares and leaves to who gives them: it does not set them itself."""
    given = _set_in(module)
    return {dest: declared for dest, declared in module.options.items() if dest not in given}


def _set_in(module: Module) -> frozenset[str]:
    """The options that a file may set itself; not what it sets in torch: `cudnn.deterministic = True`."""
    stored = (
        attribute
        for owner, attribute in module.attribute_stores
        if owner not in ("self", "cls") and module.imports.get(owner, "").partition(".")[0] != "torch"
    )
    return frozenset(stored)


def given_in_all(texts: Iterable[bytes]) -> Options:
    """The options that some files of one program declare, and that none of them sets."""
    files = [_in_file(text) for text in texts]
    given = frozenset[str]().union(*(set_there for _, set_there in files))
    found: dict[str, list[Option]] = {}
    for options, _ in files:
        for dest, declared in options.items():
            if dest not in given:
                found.setdefault(dest, []).extend(declared)
    return found


@lru_cache(maxsize=1 << 11)  # without the trees of the files, of which the options are a small part
def _in_file(raw: bytes) -> tuple[Options, frozenset[str]]:
    """The options that a file declares, and those that it may set itself."""
    module = module_of(raw)
    return (module.options, _set_in(module)) if module is not None else ({}, frozenset())


def options_as_settings(options: Options) -> Settings:
    """The options of a program as what it may be set to where nobody gives them; click passes them as parameters."""
    passed = {dest for dest, declared in options.items() if any(_called(one.node) == "option" for one in declared)}

    def read(node: ast.expr) -> str:
        return node.id if isinstance(node, ast.Name) and node.id in passed else option(node)

    return Settings(read, lambda dest: [one.default for one in options.get(dest, ())])


#: calls of functions that are followed back, and the ways to a line that are told apart
_DEEPEST = 4
_MOST_WAYS = 16


def ways_to(
    tree: ast.Module, line: int, options: Options, is_used_elsewhere: Callable[[str], bool]
) -> list[frozenset[Needed]]:
    """The options that have to be given for a line to run, for each of the ways to it: all of them on that way; through
    the calls of the function around it where only its own file calls that. Where there are too many ways, nothing is
    known of them."""
    ways = list(islice(_ways_to(tree, line, options, is_used_elsewhere, _DEEPEST), _MOST_WAYS + 1))
    return ways if len(ways) <= _MOST_WAYS else [frozenset()]


def _ways_to(
    tree: ast.Module, line: int, options: Options, is_used_elsewhere: Callable[[str], bool], depth: int
) -> Iterator[frozenset[Needed]]:
    here = frozenset(needed_at(tree, line, options_as_settings(options)))
    function = innermost_function(tree, line)
    calls = _calls_of(tree, function) if function is not None and depth and not is_used_elsewhere(function.name) else ()
    for call in calls:
        for way in _ways_to(tree, call.lineno, options, is_used_elsewhere, depth - 1):
            yield here | way
    if not calls:
        yield here


def _called(call: ast.Call) -> str:
    return last_name(call.func)


def _run_by(call: ast.Call) -> str:
    """The function that a call starts in processes: `mp.spawn(main, ...)`, `Process(target=main)`."""
    if _called(call) in _SPAWNING and call.args:
        return last_name(call.args[0])
    target = next((k.value for k in call.keywords if k.arg == "target"), None) if _called(call) == "Process" else None
    return last_name(target) if target is not None else ""


#: functions that start processes of the function which is their first argument
_SPAWNING = frozenset(path.rpartition(".")[2] for path in frameworks.SPAWNING)
#: decorators after which a function is called as before, and by nobody else
_LEAVING = vocabulary.WITHOUT_GRADIENTS | {"staticmethod", "classmethod"}


def _calls_of(tree: ast.Module, function: FunctionNode) -> list[ast.Call]:
    """The calls by its name of a function that is only called, or started in processes: none where it may be handed on
    to something else."""
    nodes = walk(tree)
    calls = [node for node in nodes if isinstance(node, ast.Call) and function.name in (_run_by(node), _called(node))]
    named = [n for n in nodes if isinstance(n, (ast.Name, ast.Attribute)) and last_name(n) == function.name]
    alone = sum(isinstance(n, FUNCTIONS) and n.name == function.name for n in nodes) == 1
    known = _LEAVING.issuperset(map(decorator_name, function.decorator_list))
    plain = alone and known and len(named) == len(calls)
    outside = not any(function.lineno <= call.lineno <= (function.end_lineno or call.lineno) for call in calls)
    return calls if plain and outside else []


def module_of(raw: bytes) -> Module | None:
    """The index of a file, None if it cannot be read."""
    tree = source.tree_of(raw)
    return indexing.build("", "", "", tree) if tree is not None else None


def _asked(module: Module, dests: set[str]) -> Asked:
    declared = (option for dest in dests for option in module.options.get(dest, ()))
    return Asked(tuple(sorted(dests)), frozenset(dests).union(*(option.names for option in declared)))


@lru_cache(maxsize=1 << 12)
def offered(raw: bytes, dest: str) -> frozenset[str] | None:
    """The texts that an option of a program may be; None if it has none of this name, or it may be any."""
    if b"choices" not in raw or dest.encode() not in raw:
        return None
    module = module_of(raw)
    declared = module.options.get(dest, ()) if module is not None else ()
    texts = [_texts_of(keyword.value) for one in declared for keyword in one.node.keywords if keyword.arg == "choices"]
    if not texts or len(texts) < len(declared) or any(not chosen for chosen in texts):
        return None
    return frozenset(text for chosen in texts for text in chosen)


@lru_cache(maxsize=1 << 12)
def defaults(raw: bytes, dest: str) -> frozenset[str] | None:
    """The texts that an option of a program is where nobody gives it; None if it has none of this name, or one of them
    is not known."""
    if b"add_argument" not in raw or dest.encode() not in raw:
        return None
    module = module_of(raw)
    declared = given_in(module).get(dest, ()) if module is not None else ()
    values = default_values(declared)
    texts = frozenset(value for value in values or () if isinstance(value, str))
    return texts if values is not None and len(texts) == len(values) > 0 else None


def default_values(declared: Iterable[Option]) -> frozenset[object] | None:
    """What an option is where nobody gives it; None if one of its declarations leaves that open."""
    defaults = [option.default for option in declared]
    values = frozenset(default.value for default in defaults if isinstance(default, ast.Constant))
    return values if all(isinstance(default, ast.Constant) for default in defaults) else None


def _texts_of(node: ast.expr) -> tuple[str, ...]:
    """The texts in a display, if nothing else is in it."""
    given = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else []
    texts = tuple(n.value for n in given if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return texts if len(texts) == len(given) else ()


def is_on(options: Options, dest: str) -> bool:
    """Whether an option may be on where nobody gives it."""
    defaults = [one.default for one in options.get(dest, ())]
    return any(not isinstance(default, ast.Constant) or bool(default.value) for default in defaults)


def gives(command: bytes, names: Iterable[str]) -> bool:
    """Whether a command gives one of the options, or hands on options that are not seen."""
    return names_one(command, names) or hands_on(command)


def names_one(command: bytes, names: Iterable[str]) -> bool:
    """Whether a command names one of the options."""
    words = command.replace(b"-", b"_")
    return any(re.search(rb"\b_*" + re.escape(name.encode()) + rb"\b", words) for name in names)


#: a file of options or settings among a command's arguments
_OF_OPTIONS = late_pattern(rb"(?<=[\s=@])[\w./${}-]+\.(?:txt|args|ya?ml|json|toml|cfg|ini)\b")


def hands_on_a_file(command: bytes) -> bool:
    """Whether a command gives the program a file that may hold its options."""
    return bool(handed_on(command))


def handed_on(command: bytes) -> frozenset[bytes]:
    """The names of the files that a command gives the program, and that may hold its options."""
    return frozenset(path.rpartition(b"/")[2] for path in _OF_OPTIONS.findall(command))


def value_in(command: bytes, names: Iterable[str]) -> str:
    """What a command gives one of the options; "" if that is not seen."""
    named = b"|".join(re.escape(name.encode()).replace(b"_", b"[-_]") for name in names)
    found = re.search(rb"(?<!\S)-{1,2}(?:" + named + rb")[= ]+[\"']?([^\s\"']+)", command)
    return found[1].decode(errors="replace") if found is not None else ""
