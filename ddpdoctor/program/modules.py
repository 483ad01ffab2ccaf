"""One parsed file: its imports, functions, classes and top-level names."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from ddpdoctor.model.record import field, record
from ddpdoctor.program.nodes import decorator_name, dotted, walk
from ddpdoctor.program.options import Option

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
N = TypeVar("N", bound=ast.AST)


@record(frozen=True, slots=True)
class Signature:
    """What a call binds: the names of the parameters and the expressions of their defaults."""

    #: by position
    positional: tuple[str, ...]
    #: by position or by name
    names: tuple[str, ...]
    #: by position, without a default
    needed: tuple[str, ...]
    defaults: tuple[tuple[str, ast.expr], ...]
    #: of `*args` and `**kwargs`, "" if it has none
    rest: str
    others: str

    @property
    def bound(self) -> tuple[str, ...]:
        """Every variable that a call gives a value."""
        return (*self.names, *filter(None, (self.rest, self.others)))


@record(eq=False, slots=True)
class FunctionInfo:
    """A function or method; compared by identity."""

    name: str
    node: FunctionNode | ast.Lambda
    module: Module
    owner: ClassInfo | None = None
    #: names that it declares `global` or `nonlocal`
    outer: frozenset[str] = frozenset()
    #: answers to `marks`, `abstract` and `signature`, which are asked at every call
    _marks: frozenset[str] | None = None
    _reads: frozenset[str] | None = None
    _own: frozenset[str] | None = None
    _abstract: bool | None = None
    _signature: Signature | None = None

    @property
    def qualname(self) -> str:
        return f"{self.owner.name}.{self.name}" if self.owner else self.name

    @property
    def body(self) -> list[ast.stmt]:
        return [] if isinstance(self.node, ast.Lambda) else self.node.body

    @property
    def decorators(self) -> list[ast.expr]:
        return [] if isinstance(self.node, ast.Lambda) else self.node.decorator_list

    @property
    def marks(self) -> frozenset[str]:
        """The last names of its decorators, called or not."""
        if self._marks is None:
            self._marks = frozenset(map(decorator_name, self.decorators)) - {""}
        return self._marks

    @property
    def reads(self) -> frozenset[str]:
        """The names that it may read."""
        if self._reads is None:
            self._reads = frozenset(node.id for node in walk(self.node) if isinstance(node, ast.Name))
        return self._reads

    @property
    def own(self) -> frozenset[str]:
        """The attributes of its object that a method may read, itself or in other methods of the class."""
        if self._own is None:
            self._own = frozenset()  # of a method that calls itself
            self._own = self._attributes()
        return self._own

    def _attributes(self) -> frozenset[str]:
        first = self.parameters[0].arg if self.parameters and self.owner is not None else ""
        named = {
            node.attr for node in walk(self.node)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == first
        }  # fmt: skip
        methods = [self.owner.methods[name] for name in named & self.owner.methods.keys()] if self.owner else []
        return frozenset(named).union(*(method.own for method in methods))

    @property
    def is_static(self) -> bool:
        return "staticmethod" in self.marks

    @property
    def remembers(self) -> bool:
        """Whether it caches: a call with the same arguments returns the same object again."""
        return not self.marks.isdisjoint(("lru_cache", "cache"))

    @property
    def of_class(self) -> bool:
        """Whether its first parameter is the class."""
        return "classmethod" in self.marks

    @property
    def abstract(self) -> bool:
        """Whether a subclass has to implement it: it is marked abstract, or only raises NotImplementedError."""
        if self._abstract is None:
            self._abstract = self._is_abstract()
        return self._abstract

    def _is_abstract(self) -> bool:
        if self.owner is None:
            return False
        if "abstractmethod" in self.marks:
            return True
        last = self.body[-1] if 0 < len(self.body) < 3 else None
        raised = last.exc if isinstance(last, ast.Raise) else None
        raised = raised.func if isinstance(raised, ast.Call) else raised
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"

    @property
    def parameters(self) -> list[ast.arg]:
        a = self.node.args
        return [*a.posonlyargs, *a.args]

    @property
    def signature(self) -> Signature:
        if self._signature is None:
            self._signature = _signature(self.node.args)
        return self._signature


def _signature(given: ast.arguments) -> Signature:
    positional = tuple(p.arg for p in (*given.posonlyargs, *given.args))
    by_name = tuple(p.arg for p in given.kwonlyargs)
    needed = len(positional) - len(given.defaults)
    defaults = [*zip(positional[needed:], given.defaults, strict=True)]
    defaults += [(n, d) for n, d in zip(by_name, given.kw_defaults, strict=True) if d is not None]
    return Signature(
        positional, (*positional, *by_name), positional[:needed], tuple(defaults),
        given.vararg.arg if given.vararg is not None else "", given.kwarg.arg if given.kwarg is not None else "",
    )  # fmt: skip


@record(eq=False, slots=True)
class ClassInfo:
    """A class: its methods, and which methods store which attributes of `self`."""

    name: str
    node: ast.ClassDef
    module: Module
    methods: dict[str, FunctionInfo] = field(default_factory=dict)
    #: class-level `name = expression`
    constants: dict[str, ast.expr] = field(default_factory=dict)
    #: attribute -> methods with a `self.attribute = ...`
    stores: dict[str, list[FunctionInfo]] = field(default_factory=dict)


@record(eq=False, slots=True)
class Binding:
    """One top-level statement that binds a name."""

    #: the right-hand side, a def or class, or None if it is bound by a loop, `with`, `del`, unpacking, ...
    value: ast.expr | FunctionInfo | ClassInfo | None
    #: index of the unpacked element, None without unpacking
    part: int | None = None


@record(eq=False, slots=True)
class Module:
    """A parsed file and the index of its top level."""

    path: str
    #: dotted name as other files of the project import it
    name: str
    text: str
    tree: ast.Module
    lines: list[str]
    #: every node of the tree except contexts and operators; and by class
    nodes: list[ast.AST]
    kinds: dict[type[ast.AST], list[Any]]
    is_package: bool = False
    #: local name -> absolute dotted target, of every import in the file, at any depth
    imports: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    functions: list[FunctionInfo] = field(default_factory=list)
    classes: list[ClassInfo] = field(default_factory=list)
    #: names that some function assigns through `global`
    rebound: set[str] = field(default_factory=set)
    #: (name, attribute) -> expressions stored by `name.attribute = ...` anywhere in the file
    attribute_stores: dict[tuple[str, str], list[ast.expr]] = field(default_factory=dict)
    #: attributes that it stores in objects other than `self` and `cls`
    given: set[str] = field(default_factory=set)
    #: attributes that are stored, in the order of their lines; and those lines
    stores: list[ast.Attribute] = field(default_factory=list)
    stored: list[int] = field(default_factory=list)
    #: options of the command line that it declares, by the name under which a program reads them
    options: dict[str, list[Option]] = field(default_factory=dict)
    #: every name and attribute in the file, for cheap tests whether a rule can apply at all
    words: set[str] = field(default_factory=set)
    #: it may contain a comment that gives an expression a taint
    annotated: bool = False
    #: loop -> (names that its body assigns, whether it stores attributes, or may be left early); filled on demand
    assigned: dict[ast.AST, tuple[set[str], bool, bool]] = field(default_factory=dict)
    #: answers about it alone, by what asks (see `once`)
    answers: dict[object, Any] = field(default_factory=dict)
    #: flags that its signal handlers set, as `signal_handlers.of_module` reads them; None until first asked for
    flags: Any = None

    def imported(self, node: ast.AST) -> str:
        """The dotted name of `dist.all_reduce` with `dist` replaced by what it was imported as; "" for no imported
        name.
        """
        parts = dotted(node)
        return ".".join((self.imports[parts[0]], *parts[1:])) if parts and parts[0] in self.imports else ""

    def of(self, kind: type[N]) -> list[N]:
        """Every node of exactly this class, outer ones first."""
        return self.kinds.get(kind, [])


_Question = TypeVar("_Question", bound=Callable[..., Any])


def once(ask: _Question) -> _Question:
    """A question about a file, or a class in it, perhaps with something else that has a hash: it is answered once, and
    forgotten with the file. What a cache of functions keeps would hold the trees of files that nobody needs any more.
    """

    @wraps(ask)
    def answered(about: Module | ClassInfo, *args: object) -> Any:
        known = (about if isinstance(about, Module) else about.module).answers
        key = (ask, id(about), args)
        if key not in known:
            known[key] = ask(about, *args)
        return known[key]

    return cast("_Question", answered)
