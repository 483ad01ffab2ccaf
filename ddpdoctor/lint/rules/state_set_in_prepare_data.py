"""Lightning's prepare_data sets an attribute that other hooks read on all ranks

## What it does
Finds attributes that nothing but `prepare_data` of a `LightningDataModule` or `LightningModule` sets, and that `setup`
or a function for a dataloader reads, itself or through methods and properties of the class. An attribute that begins as
None counts where it is used as what it is not yet: `self.table.get(...)`, `self.table[...]`, `for row in self.table`.

## Why it harms
Lightning calls `prepare_data` on local rank 0 alone, and the other hooks on all ranks. The other ranks have no such
attribute: they raise AttributeError, and rank 0 waits for them. With one process nothing is wrong.

## Example
```python
class Reviews(LightningDataModule):
    def prepare_data(self):
        self.vocabulary = build(download())

    def setup(self, stage):
        self.train_set = encode(self.vocabulary)
```

## Use instead
```python
class Reviews(LightningDataModule):
    def prepare_data(self):
        build(download()).save("vocabulary.json")

    def setup(self, stage):
        self.vocabulary = Vocabulary.load("vocabulary.json")
        self.train_set = encode(self.vocabulary)
```

## Fix safety
No automatic fix.

## When it is wrong
Where the program calls `prepare_data` itself, on each rank: if a file of the project does so, it is a hint. What the
class body, `__init__`, another method or code outside sets is not reported, nor is an attribute that the class asks for
by its name in a text (`hasattr`) or tests for None, nor classes that inherit from others which cannot be read.

## References
https://lightning.ai/docs/pytorch/stable/data/datamodule.html#prepare-data
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter.classes import external_bases, mro
from ddpdoctor.lint.knowledge import frameworks
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.program.modules import ClassInfo, FunctionInfo
from ddpdoctor.program.nodes import last_name, parents, walk
from ddpdoctor.program.sites import SourceSite, site_of

RULE = LintRule(
    "DD137",
    "state-set-in-prepare-data",
    Severity.ERROR,
    advice="let prepare_data write files, and read them in setup",
)

_PREPARES = "prepare_data"
#: methods that Lightning calls on all ranks, after `prepare_data`
_HOOKS = ("setup", *(f"{stage}_dataloader" for stage in ("train", "val", "test", "predict")))
_KINDS = frozenset({frameworks.MODULE, frameworks.DATA_MODULE})
#: other bases that set no attributes
_PLAIN = frozenset({"object", "abc.ABC", "typing.Generic", "torch.nn.Module"})
#: methods by which a class answers for attributes that it does not have
_ANSWERING = frozenset({"__getattr__", "__getattribute__"})
#: a method that asks for the rank may read on the rank that has it
_OF_RANK = frozenset({"is_global_zero", "global_rank", "local_rank", "rank_zero_only", "get_rank"})


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """`self.x = ...` in `prepare_data`, and `self.x` in `setup`."""
    told: set[SourceSite] = set()
    for info in facts.module.classes:
        lineage = mro(facts.analysis, info)
        if not any(_PREPARES in cls.methods for cls in lineage) or not _is_read(facts, info, lineage):
            continue
        for name, store, read, blank in _missing(facts, info, lineage):
            here = store if store.file == facts.module.path else read
            if here.file != facts.module.path or here in told:
                continue
            told.add(here)
            other, what = (read, "read here, on all ranks") if here is store else (store, "set here, on local rank 0")
            asked = Unconfirmed(here, RelatedRole.UNSTARTED)
            state = f"`{name}` is None on the other ranks" if blank else f"the other ranks have no attribute `{name}`"
            message = f"Lightning calls prepare_data on local rank 0 alone: {state}"
            yield facts.finding(RULE, here, message, related=((other, what),), unconfirmed=asked)


def _is_read(facts: ModuleFacts, info: ClassInfo, lineage: list[ClassInfo]) -> bool:
    """Whether it is a class of Lightning's of which every base is known, and all methods are there."""
    own = {cls.name for cls in lineage}
    bases = [base for base in external_bases(facts.analysis, info) if base.rpartition(".")[2] not in own]
    kinds = {base: frameworks.kind(base) for base in bases}
    known = all(kind in _KINDS or base in _PLAIN for base, kind in kinds.items())
    methods = [method for cls in lineage for method in cls.methods.values()]
    return (
        known
        and not _KINDS.isdisjoint(kinds.values())
        and not any(method.name in _ANSWERING or method.abstract for method in methods)
    )


def _missing(
    facts: ModuleFacts, info: ClassInfo, lineage: list[ClassInfo]
) -> Iterator[tuple[str, SourceSite, SourceSite, bool]]:
    """(attribute, where `prepare_data` sets it, where a hook reads it, whether it is None before) of what nothing else
    sets."""
    methods = _methods(lineage)
    prepared = set(_ordered(methods, [methods[_PREPARES]]))
    prepared -= set(_ordered(methods, [method for method in methods.values() if method not in prepared]))
    heirs = [cls for cls in facts.module.classes if cls is not info and info in mro(facts.analysis, cls)]
    stores = _stores(prepared)
    nones = _blank([*lineage, *heirs], prepared)
    blank = {last_name(target) for target in nones}
    known = _set(facts, [*lineage, *heirs], prepared, nones) | methods.keys()
    hooks = _ordered(methods, [methods[name] for name in _HOOKS if name in methods])
    for name, store in sorted(stores.items()):
        if name in known:
            continue
        read = next((site for method in hooks for site in _reads(method, name, used=name in blank)), None)
        if read is not None:
            yield name, store, read, name in blank


def _stores(methods: Iterable[FunctionInfo]) -> dict[str, SourceSite]:
    """Where methods set each attribute, the last place of several."""
    return {
        node.attr: site_of(method.module, node)
        for method in methods
        for node in _own(method)
        if isinstance(node.ctx, ast.Store)
    }


def _methods(lineage: list[ClassInfo]) -> dict[str, FunctionInfo]:
    """The methods of an object, by name: of the nearest class."""
    found: dict[str, FunctionInfo] = {}
    for cls in lineage:
        found = {**cls.methods, **found}
    return found


def _ordered(methods: dict[str, FunctionInfo], first: Iterable[FunctionInfo]) -> list[FunctionInfo]:
    """These methods, and those of the object that they name."""
    found: list[FunctionInfo] = []
    left = list(first)
    while left:
        method = left.pop(0)
        if method in found:
            continue
        found.append(method)
        left += [methods[node.attr] for node in _own(method) if node.attr in methods]
    return found


def _own(method: FunctionInfo) -> list[ast.Attribute]:
    """`self.name` in a method, in the order of the lines."""
    me = method.parameters[0].arg if method.parameters else ""
    found = [
        node
        for node in walk(method.node)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == me
    ]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _reads(method: FunctionInfo, name: str, *, used: bool) -> Iterator[SourceSite]:
    """Where a method reads the attribute, unless it asks for the rank, or is ready for its absence; `used`: in a way
    that None does not allow."""
    nodes = walk(method.node)
    named = {node.attr for node in nodes if isinstance(node, ast.Attribute)} | method.reads | method.marks
    if named & _OF_RANK or any(isinstance(node, ast.Try) for node in nodes):
        return
    around = parents(nodes) if used else {}
    for node in _own(method):
        if node.attr == name and isinstance(node.ctx, ast.Load) and not (used and _allows_none(around.get(node), node)):
            yield site_of(method.module, node)


def _allows_none(around: ast.AST | None, node: ast.expr) -> bool:
    """Whether the use of a value does not fail at once where the value is None."""
    match around:
        case ast.Attribute():
            return False
        case ast.Subscript(value=value) | ast.Starred(value=value):
            return value is not node
        case ast.For(iter=over) | ast.comprehension(iter=over):
            return over is not node
        case ast.Call(func=func):
            return func is not node and not (isinstance(func, ast.Name) and func.id in _SIZED)
        case ast.Compare(ops=ops, comparators=[right]):
            return right is not node or not isinstance(ops[0], (ast.In, ast.NotIn))
    return True


#: functions of the language that None is no argument of
_SIZED = frozenset(
    {"len", "sorted", "list", "tuple", "set", "dict", "enumerate", "iter", "sum", "max", "min", "reversed"}
)


def _blank(classes: list[ClassInfo], prepared: set[FunctionInfo]) -> set[ast.AST]:
    """Where class bodies and `__init__` set attributes to None of which no other method asks whether they still are."""
    found = {target: last_name(target) for cls in classes for s in _beginning(cls) for target in _set_to_none(s)}
    if not found:
        return set()
    tested = {name for cls in classes for m in cls.methods.values() if m not in prepared for name in _tested(m)}
    return {target for target, name in found.items() if name not in tested}


def _beginning(cls: ClassInfo) -> list[ast.AST]:
    """The class body, and the parts of `__init__`."""
    init = cls.methods.get("__init__")
    return [*cls.node.body, *(walk(init.node) if init is not None else ())]


def _set_to_none(statement: ast.AST) -> list[ast.expr]:
    match statement:
        case ast.Assign(value=ast.Constant(value=None)):
            return statement.targets
        case ast.AnnAssign(value=ast.Constant(value=None)):
            return [statement.target]
    return []


def _tested(method: FunctionInfo) -> Iterator[str]:
    """The attributes of the object whose truth a method asks for, or whether they are None."""
    around = parents(walk(method.node))
    for node in _own(method):
        match around.get(node):
            case ast.Compare(ops=[ast.In() | ast.NotIn()]):
                continue
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp() | ast.NamedExpr():
                yield node.attr
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Assert(test=test):
                if test is node:
                    yield node.attr
            case ast.Call(func=ast.Name(id="bool" | "isinstance" | "callable")):
                yield node.attr


def _set(facts: ModuleFacts, classes: list[ClassInfo], prepared: set[FunctionInfo], blank: set[ast.AST]) -> set[str]:
    """Attributes that something else sets or may set: other methods, the class body, code outside; and those that the
    class names in a text. `blank`: where they are only set to None to begin with."""
    names: set[str] = set()
    for module in facts.modules:
        names |= module.given
    for cls in classes:
        names |= {node.value for node in walk(cls.node) if isinstance(node, ast.Constant) and type(node.value) is str}
        names |= {
            target.id
            for statement in cls.node.body
            for target in _targets(statement)
            if isinstance(target, ast.Name) and target not in blank
        }
        others = (method for method in cls.methods.values() if method not in prepared)
        names |= {
            node.attr for m in others for node in _own(m) if not isinstance(node.ctx, ast.Load) and node not in blank
        }
    return names


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AnnAssign) and statement.value is not None else []
