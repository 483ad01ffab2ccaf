"""Abstract objects: what a value can be known to be. If `is_truthy`, it is neither None nor false."""

from __future__ import annotations

import ast
from typing import Protocol

from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.lint.values.values import Keywords, Value
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.model.record import field, record
from ddpdoctor.program.modules import ClassInfo, FunctionInfo, Module
from ddpdoctor.program.sites import SourceSite


class External(NamedTuple):
    """A module, class or function outside the project, by its canonical dotted name."""

    path: str

    @property
    def is_truthy(self) -> bool:
        """True for known libraries, modules, and classes by their names; any other import may be a flag."""
        last = self.path.rpartition(".")[2]
        camel = last[:1].isupper() and not last.isupper()
        return camel or "." not in self.path or self.path.startswith(_LIBRARIES)


_LIBRARIES = ("torch.", "builtins.", "numpy.", "os.", "sys.", "math.", "random.", "time.", "functools.", "itertools.")


class Definite:
    """What is neither None nor false, whatever else is known of it."""

    __slots__ = ()

    is_truthy = True


@record(frozen=True, slots=True)
class LocalModule(Definite):
    module: Module


class Enclosing(Protocol):
    """The variables of an enclosing function."""

    env: dict[str, Value]

    @property
    def closure(self) -> Enclosing | None:
        """Those around it."""


@record(frozen=True, slots=True)
class Function(Definite):
    """A function of the project; `receiver` is bound as its first parameter."""

    info: FunctionInfo
    receiver: Value | None = None
    #: where it was defined, whose variables it sees as they are when it runs
    closure: Enclosing | None = field(default=None, compare=False)
    #: the function itself, without its decorators
    bare: bool = False


@record(frozen=True, slots=True)
class Class(Definite):
    info: ClassInfo


@record(frozen=True, slots=True)
class Instance(Definite):
    """An object of a class of the project."""

    info: ClassInfo
    site: SourceSite | None
    args: tuple[Value, ...] = field(default=(), compare=False)
    keywords: tuple[tuple[str, Value], ...] = field(default=(), compare=False)
    #: the constructor call of torch's loader or sampler, if its class extends one
    base: Made | None = field(default=None, compare=False)


class Arguments:
    """The arguments of a call, as `args` and `keywords`, looked up by parameter."""

    __slots__ = ()

    args: tuple[Value, ...]
    keywords: Keywords

    def keyword(self, name: str) -> Value | None:
        return next((v for k, v in self.keywords if k == name), None)

    def argument(self, position: int, name: str) -> Value | None:
        """An argument given by position or by name; None if it was not given."""
        if 0 <= position < len(self.args):
            return self.args[position]
        return self.keyword(name)

    @property
    def opaque(self) -> bool:
        """Whether the call has `*args` or `**kwargs` of unknown content, so any argument may have been given."""
        return any(k in ("*", "**") for k, _ in self.keywords)


@record(frozen=True, slots=True, eq=False)
class Given(Arguments):
    """What a function of the project is called with, and where."""

    args: tuple[Value, ...]
    keywords: Keywords
    site: SourceSite
    #: None where no call in the source does it, but a loop, a `with`, a wrapper
    node: ast.Call | None = None


@record(frozen=True, slots=True)
class Made(Arguments):
    """The result of calling something external: a sampler, a loader, a wrapped model, a group, a tensor."""

    path: str
    site: SourceSite
    args: tuple[Value, ...] = field(default=(), compare=False)
    keywords: tuple[tuple[str, Value], ...] = field(default=(), compare=False)
    node: ast.Call | None = field(default=None, compare=False)

    @property
    def is_truthy(self) -> bool:
        """True for a constructor, which gives an object; a function may give anything, and a tensor may be false."""
        return self.path.rpartition(".")[2][:1].isupper() and self.path not in vocabulary.TENSORS


class Method(NamedTuple):
    """A method of an external or unknown object."""

    receiver: Value
    name: str


@record(frozen=True, slots=True)
class Items:
    """A tuple or list whose elements are known one by one."""

    items: tuple[Value, ...]


@record(frozen=True, slots=True)
class ItemsByRank:
    """A list whose elements are known, of which some ranks have more than others: `if rank > 0: peers.append(left)`."""

    #: (ranks that have it, element)
    items: tuple[tuple[int, Value], ...]


@record(frozen=True, slots=True)
class Listed:
    """A list of unknown length: the result of a comprehension or a generator, or a list that was appended to."""

    site: SourceSite
    #: the value of any of its elements, if known
    element: Value | None = field(default=None, compare=False)


@record(frozen=True, slots=True)
class Table:
    """A dict with constant string keys; `complete` is false if it may hold more."""

    entries: tuple[tuple[str, Value], ...]
    complete: bool = True
    #: the value under any other key, if known
    rest: Value | None = field(default=None, compare=False)


@record(frozen=True, slots=True)
class EnumMember:
    """A member of an enumeration of the project."""

    info: ClassInfo
    name: str


@record(frozen=True, slots=True)
class Namespace:
    """An `argparse` result."""

    site: SourceSite


@record(frozen=True, slots=True)
class GroupOf:
    """A process group: its members in the simulated job, None if they are not known."""

    members: tuple[int, ...] | None
    #: the program makes several of its kind, of other ranks: one for each row of a mesh, or in each turn of a loop
    several: bool = False


AbstractObject = (
    External
    | LocalModule
    | Function
    | Class
    | Instance
    | Made
    | EnumMember
    | Method
    | Items
    | ItemsByRank
    | Listed
    | Table
    | Namespace
    | GroupOf
)
