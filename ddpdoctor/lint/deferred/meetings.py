"""What surely enters a collective wherever it is called: functions and methods by name, in all files. Pure.

Lint follows calls that it can resolve. What a hook is given, or a registry makes, is not among them, but its methods
have names: where all methods of a name in the project gather something, so does the one that is called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property

from ddpdoctor.lint.deferred import given_options
from ddpdoctor.lint.deferred.launches import Place
from ddpdoctor.lint.knowledge import collectives, heuristics
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program import source
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of

#: most definitions of one name that are looked at, and calls that are followed into one another
MOST = 3
DEEPEST = 4

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_APART = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)
_DEFINED = late_pattern(rb"\bdef\s+(\w+)")
_C10D = "torch.distributed"
#: make the group, or are between two ranks
_OTHERS = frozenset({"init_process_group", "new_group"})


class Meeting(NamedTuple):
    """A collective on the default group that a function enters, and the class that the function is a method of."""

    operation: str
    at: Place
    owner: str = ""


class Definition(NamedTuple):
    """A function of a file, and the class that it is a method of."""

    path: str
    node: _Function
    owner: ast.ClassDef | None = None


class Meetings:
    """What functions in some files enter, each file parsed once."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        """`texts`: what the files contain, by their paths."""
        self._texts = texts
        self._found: dict[str, list[Definition]] = {}
        self._modules: dict[str, Module | None] = {}

    def of_method(self, name: str, receiver: str) -> Meeting | None:
        """What a method of this name enters, of an object that is called `receiver`; None if that cannot be told: of
        several classes that have one, the class of that name counts, or all of them."""
        met = self._all(self.methods(name, receiver))
        return met[0] if met else None

    def methods(self, name: str, receiver: str) -> list[Definition]:
        """The methods of this name that an object which is called `receiver` may have."""
        methods = [one for one in self._definitions(name) if one.owner is not None]
        return [one for one in methods if one.owner is not None and _is_called(one.owner.name, receiver)] or methods

    def _all(self, definitions: list[Definition], depth: int = 0) -> list[Meeting]:
        """What each of these enters; nothing if one of them may enter nothing."""
        if not 0 < len(definitions) <= MOST or depth > DEEPEST:
            return []
        found = [self._entered(one, one.node.body, depth) for one in definitions]
        met = [one for one in found if one is not None]
        return met if len(met) == len(found) else []

    def _entered(self, inside: Definition, statements: list[ast.stmt], depth: int) -> Meeting | None:
        """The first collective that statements surely enter, before they may end."""
        for statement in statements:
            for part in _parts(statement):
                met = self._called(inside, part, depth)
                if met is not None:
                    return met
            for block in _blocks(statement):
                met = self._entered(inside, block, depth)
                if met is not None:
                    return met
            if isinstance(statement, ast.Return) or (isinstance(statement, ast.If) and _may_leave(statement)):
                return None
        return None

    def _called(self, inside: Definition, expression: ast.expr, depth: int) -> Meeting | None:
        for call in _calls(expression):
            name = last_name(call.func)
            operation = self._operation(inside.path, call)
            if operation:
                return Meeting(operation, Place(inside.path, call.lineno), inside.owner.name if inside.owner else "")
            met = self._all(self._meant(inside, call.func, name), depth + 1)
            if met:
                return met[0]._replace(owner=inside.owner.name if inside.owner else "")
        return None

    def _operation(self, path: str, call: ast.Call) -> str:
        """The collective that a call of torch enters on the default group, "" if none."""
        module = self._module(path)
        name = module.imported(call.func) if module is not None else ""
        spec = collectives.COLLECTIVES.get(name) if name.startswith(_C10D) else None
        if spec is None or spec.pairwise or spec.op in _OTHERS:
            return ""
        grouped = any(keyword.arg in ("group", "process_group") for keyword in call.keywords)
        return "" if grouped or len(call.args) > spec.group >= 0 else spec.op

    def _meant(self, inside: Definition, function: ast.expr, name: str) -> list[Definition]:
        """The functions that a call may mean: of its own class, or of the project's modules by name."""
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "self":
            methods = [one for one in self._definitions(name) if one.owner is not None]
            own = [one for one in methods if one.owner is inside.owner]
            return own or methods
        return [one for one in self._definitions(name) if one.owner is None]

    def _definitions(self, name: str) -> list[Definition]:
        """Those of a name that do something."""
        if name not in self._found:
            self._found[name] = [one for one in self._defined(name) if not _is_abstract(one.node)]
        return self._found[name]

    def _defined(self, name: str) -> Iterator[Definition]:
        for path in self._defining.get(name.encode(), ()):
            tree = source.tree_of(self._texts[path])
            for node in tree.body if isinstance(tree, ast.Module) else ():
                inside = node.body if isinstance(node, ast.ClassDef) else [node]
                owner = node if isinstance(node, ast.ClassDef) else None
                yield from (Definition(path, one, owner) for one in inside
                            if isinstance(one, _FUNCTIONS) and one.name == name)  # fmt: skip

    @cached_property
    def _defining(self) -> dict[bytes, list[str]]:
        """The files that define a function or method, by its name."""
        found: dict[bytes, list[str]] = {}
        for path, text in self._texts.items():
            for name in set(_DEFINED.findall(text)):
                found.setdefault(name, []).append(path)
        return found

    def _module(self, path: str) -> Module | None:
        if path not in self._modules:
            self._modules[path] = given_options.module_of(self._texts[path])
        return self._modules[path]


def _is_called(class_name: str, receiver: str) -> bool:
    """Whether an object of this name may be one of a class: `self.my_trainer` of a `Trainer`."""
    plain = [name.replace("_", "").lower() for name in (class_name, receiver.rpartition(".")[2])]
    return bool(plain[1]) and (plain[0].endswith(plain[1]) or plain[1].endswith(plain[0]))


def _is_abstract(function: _Function) -> bool:
    """Whether it says only what others have to do."""
    plain = (ast.Pass, ast.Raise)
    return all(isinstance(s, plain) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
               for s in function.body)  # fmt: skip


def _parts(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions that a statement surely evaluates."""
    for _, value in ast.iter_fields(statement) if not isinstance(statement, _APART) else ():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.expr):
                yield part
            elif isinstance(part, ast.withitem):
                yield part.context_expr


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks that surely run: what is left out without a group does no harm."""
    if isinstance(statement, ast.If):
        if _about_group(statement.test):
            yield from (statement.body, statement.orelse)
    elif isinstance(statement, (ast.With, ast.AsyncWith, ast.For, ast.Try)):
        yield statement.body


def _may_leave(branch: ast.If) -> bool:
    """Whether the function may end at a branch, other than where there is no group."""
    leaves = any(isinstance(node, (ast.Return, ast.Raise)) for node in walk(branch))
    return leaves and not _about_group(branch.test)


def _about_group(test: ast.expr) -> bool:
    text = text_of(test)
    return heuristics.ASKS_FOR_GROUP.found_in(text) or heuristics.JOB_SIZE.found_in(text)


def _calls(expression: ast.AST) -> Iterator[ast.Call]:
    """The calls in an expression that are surely made, in the order in which they are written."""
    if isinstance(expression, (ast.Lambda, ast.IfExp, ast.BoolOp)):
        return
    for child in ast.iter_child_nodes(expression):
        yield from _calls(child)
    if isinstance(expression, ast.Call):
        yield expression
