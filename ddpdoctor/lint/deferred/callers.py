"""Whether somebody in the project leaves a function to one rank: its callers, by name, in all files. Pure.

Lint follows calls that it can resolve. A method of an object that a factory or a configuration makes is not among them,
but its name is written where it is called, and so is a condition on the rank around the call.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program import source
from ddpdoctor.program.nodes import decorator_name, last_name, parents, walk
from ddpdoctor.program.text import text_of

#: most files that call one function (a name in more of them says little), callers of callers, and functions that are
#: looked at for one question
MOST = 40
DEEPEST = 3
WIDEST = 200

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: the parent of each node of a file
_Above = dict[ast.AST, ast.AST]


class _Call(NamedTuple):
    """A call of the function, with everything around it, innermost first."""

    path: str
    around: tuple[ast.AST, ...]
    node: ast.Call


class Callers:
    """The callers in some files, each file parsed once."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        """`texts`: what the files contain, by their paths."""
        self._texts = texts
        self._found: dict[str, list[tuple[_Call, _Above]]] = {}
        #: functions that the present question may still look at
        self._left = 0
        #: the files of the callers of the function that was asked for last, and those of them where the way begins
        self.passed: set[str] = set()
        self.starts: set[str] = set()
        self._trees: dict[str, tuple[ast.Module, _Above] | None] = {}

    def never_choose(self, path: str, line: int) -> bool:
        """Whether the function around a line is called, and none of those who call it, or call them, may choose a
        rank."""
        self.passed, self.starts, self._left = set(), set(), WIDEST
        tree = self._tree(path)
        function = _around(tree[0], line) if tree is not None else None
        return tree is not None and function is not None and self._reached(path, function, tree[1], set())

    def function_around(self, path: str, line: int) -> str:
        """The name of the function around a line; "" if there is none, or something else may call it: a decorator, a
        base class, or Python."""
        tree = self._tree(path)
        function = _around(tree[0], line) if tree is not None else None
        if tree is None or function is None or function.decorator_list or function.name.startswith("_"):
            return ""
        owner = tree[1].get(function)
        inherits = isinstance(owner, ast.ClassDef) and bool(owner.bases)
        return "" if inherits else function.name

    def given(self, path: str, line: int, parameter: str) -> Iterator[tuple[str, ast.expr]]:
        """What those pass as a parameter who call the function around a line for its result, each with its file."""
        tree = self._tree(path)
        function = _around(tree[0], line) if tree is not None else None
        names = [argument.arg for argument in function.args.args] if function is not None else []
        if tree is None or function is None or parameter not in names:
            return
        at = names.index(parameter) - (names[0] in ("self", "cls"))
        for call, _ in self._called(_called_as(function, tree[1])):
            named = [keyword.value for keyword in call.node.keywords if keyword.arg == parameter]
            for value in (named or call.node.args[at : at + 1]) if not isinstance(call.around[0], ast.Expr) else ():
                yield call.path, value

    def passed_as(self, path: str, line: int, parameter: str) -> list[ast.expr]:
        """All that is passed as a parameter of the function around a line, its default among them where a call leaves
        it out; none where that cannot be told: somebody may call it who is not seen, or unpacks arguments."""
        function = self._function(path, line)
        if function is None:
            return []
        values = [passed(call, function, parameter) for _, call in self.calls_of(path, line)]
        known = [one for one in values if one is not None]
        return known if len(known) == len(values) else []

    def calls_of(self, path: str, line: int) -> list[tuple[str, ast.Call]]:
        """All calls of the function around a line, each with its file; none where somebody may call it who is not
        seen."""
        tree, function = self._tree(path), self._function(path, line)
        if tree is None or function is None or function.decorator_list or _is_called_by_others(function, tree[1]):
            return []
        name = _called_as(function, tree[1])
        return [] if self._is_handed_on(name) else [(call.path, call.node) for call, _ in self._called(name)]

    def _function(self, path: str, line: int) -> _Function | None:
        tree = self._tree(path)
        return _around(tree[0], line) if tree is not None else None

    def _is_handed_on(self, name: str) -> bool:
        """Whether something names a function other than to call or to import it."""
        files = [path for path, text in self._texts.items() if name.encode() in text]
        trees = [tree for path in files if (tree := self._tree(path)) is not None]
        return len(trees) < len(files) or any(name in _handed_on(tree[0]) for tree in trees)

    def _reached(self, path: str, function: _Function, above: _Above, seen: set[str]) -> bool:
        name, depth = _called_as(function, above), len(seen)
        self._left -= 1
        if self._left < 0 or depth > DEEPEST or name in seen or name.startswith("__"):
            return False
        if _chooses_in(function) or self._is_made_on_some(function, above):
            return False
        if depth and name in STARTS:
            self.starts.add(path)
            return True  # by this name it may be called anywhere
        calls = self._called(name)
        if not calls:
            return False
        for around, other in calls:
            self.passed.add(around.path)
            if _chosen(around) or _passes_rank(around):
                return False
            outer = next((n for n in around.around if isinstance(n, _FUNCTIONS)), None)
            if outer is None:
                self.starts.add(around.path)
            elif not self._reached(around.path, outer, other, {*seen, name}):
                return False
        return True

    def _is_made_on_some(self, method: _Function, above: _Above) -> bool:
        """Whether some ranks may have another object than the one with this method, and it may do nothing."""
        owner = above.get(method)
        if not isinstance(owner, ast.ClassDef) or method.name == "__init__":
            return False
        return any(_chosen(made) for made, _ in self._called(owner.name))

    def _called(self, name: str) -> list[tuple[_Call, _Above]]:
        if name not in self._found:
            self._found[name] = list(self._calls(name))
        return self._found[name]

    def _calls(self, name: str) -> Iterator[tuple[_Call, _Above]]:
        written = re.compile(rb"\b" + re.escape(name.encode()) + rb"\s*\(")
        files = [path for path, text in self._texts.items() if written.search(text)]
        for path in files if len(files) <= MOST else ():
            tree = self._tree(path)
            for node in walk(tree[0]) if tree is not None else ():
                if tree is not None and isinstance(node, ast.Call) and last_name(node.func) == name:
                    yield _Call(path, tuple(_outwards(node, tree[1])), node), tree[1]

    def _tree(self, path: str) -> tuple[ast.Module, _Above] | None:
        if path not in self._trees:
            raw = self._texts.get(path)
            self._trees[path] = _parsed(raw) if raw is not None else None
        return self._trees[path]


#: what programs call their first function
STARTS = frozenset({"main", "train", "run", "cli", "cli_main", "training", "main_worker", "worker", "launch"})


def _parsed(raw: bytes) -> tuple[ast.Module, _Above] | None:
    tree = source.tree_of(raw)
    return (tree, parents(walk(tree))) if tree is not None else None


def _outwards(node: ast.AST, above: _Above) -> Iterator[ast.AST]:
    while node in above:
        node = above[node]
        yield node


def _around(tree: ast.Module, line: int) -> _Function | None:
    """The innermost function around a line, not one that is defined in another."""
    found = [n for n in walk(tree) if isinstance(n, _FUNCTIONS) and n.lineno <= line <= (n.end_lineno or 0)]
    return found[0] if len(found) == 1 else None


def _called_as(function: _Function, above: _Above) -> str:
    """The name by which it is called: of a constructor, that of the class."""
    owner = above.get(function)
    return owner.name if function.name == "__init__" and isinstance(owner, ast.ClassDef) else function.name


#: how ranks leave what comes next to the others
_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def _chosen(call: _Call) -> bool:
    """Whether something around the call, or before it in its function, may leave it to one rank."""
    inner: ast.AST = call.node
    for node in call.around:
        if isinstance(node, (ast.If, ast.IfExp, ast.While)) and inner is not node.test and _chooses(node.test):
            return True
        if isinstance(node, ast.BoolOp) and _chooses(node):
            return True
        if isinstance(node, (ast.With, ast.AsyncWith)) and any(_in_turns(item) for item in node.items):
            return True
        if isinstance(node, _FUNCTIONS):
            return blocks.left_before(node, call.node.lineno, _chooses, *_ENDS)
        inner = node
    return False


def _passes_rank(call: _Call) -> bool:
    """Whether the function is given a text that is made of the rank: each rank does with its own what it does."""
    function = next((n for n in call.around if isinstance(n, _FUNCTIONS)), None)
    given = [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
    names = {node.id for node in given if isinstance(node, ast.Name)}
    stated = (n for n in walk(function) if isinstance(n, ast.Assign)) if function is not None and names else ()
    made = [n.value for n in stated if any(isinstance(t, ast.Name) and t.id in names for t in n.targets)]
    return any(_is_text(node) and heuristics.NAMES_RANK.found_in(text_of(node)) for node in (*given, *made))


def _is_text(node: ast.expr) -> bool:
    """Whether the expression puts a text together."""
    if isinstance(node, ast.Call):
        return last_name(node.func) in ("join", "format", "Path")
    return isinstance(node, (ast.JoinedStr, ast.BinOp))


def _chooses(test: ast.expr) -> bool:
    text = text_of(test)
    return "__name__" not in text and heuristics.CHOOSES_RANK.found_in(text)


def _in_turns(item: ast.withitem) -> bool:
    return heuristics.TAKES_TURNS.found_in(text_of(item.context_expr))


def _chooses_in(function: _Function) -> bool:
    """Whether a decorator may leave the function to one rank."""
    return any(decorator_name(d) not in heuristics.PLAIN_DECORATORS.words for d in function.decorator_list)


#: bases that make no objects of the classes below them
_MADE_BY_NAME = frozenset({"object", "Dataset", "IterableDataset", "Module"})


def _makes_its_own(owner: ast.ClassDef) -> bool:
    """Whether a class makes objects other than by its name: `cls(...)`."""
    return any(isinstance(node, ast.Name) and node.id == "cls" for node in walk(owner))


def _is_called_by_others(function: _Function, above: _Above) -> bool:
    """Whether a base class or the language may call a function."""
    owner = above.get(function)
    if isinstance(owner, ast.ClassDef):
        if function.name == "__init__":
            return not {*map(last_name, owner.bases)} <= _MADE_BY_NAME or _makes_its_own(owner)
        return not {*map(last_name, owner.bases)} <= {"object"} or function.name.startswith("__")
    return not isinstance(owner, ast.Module)


def passed(call: ast.Call, function: _Function, parameter: str) -> ast.expr | None:
    """What a call passes as a parameter, or its default; None if that cannot be told."""
    told = function.args
    if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
        return None
    names = [one.arg for one in (*told.posonlyargs, *told.args)]
    at = names.index(parameter) - (names[0] in ("self", "cls")) if parameter in names else len(call.args)
    named = (one.value for one in call.keywords if one.arg == parameter)
    return next(iter((*named, *call.args[at : at + 1])), defaults(function).get(parameter))


def defaults(function: _Function) -> dict[str, ast.expr]:
    """The defaults of a function's parameters."""
    told = function.args
    places = [*told.posonlyargs, *told.args]
    given = zip(places[len(places) - len(told.defaults) :], told.defaults, strict=True)
    named = zip(told.kwonlyargs, told.kw_defaults, strict=True)
    return {one.arg: default for one, default in (*given, *named) if default is not None}


@lru_cache(maxsize=256)  # the trees are kept as long as their repository is asked about
def _handed_on(tree: ast.Module) -> frozenset[str]:
    """The names in a file other than to call what they name, and its texts."""
    nodes = walk(tree)
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    names = {last_name(n) for n in nodes if isinstance(n, (ast.Name, ast.Attribute)) and n not in called}
    return frozenset(names | {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)})
