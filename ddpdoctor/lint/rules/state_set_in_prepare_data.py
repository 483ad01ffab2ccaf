"""Lightning's prepare_data sets an attribute that other hooks read on all ranks

## What it does
Finds attributes that nothing but `prepare_data` of a `LightningDataModule` or `LightningModule` sets, and that `setup`
or a function for a dataloader reads, itself or through methods and properties of the class.

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
by its name in a text (`hasattr`), nor classes that inherit from others which cannot be read.

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
from ddpdoctor.program.nodes import walk
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
        for name, store, read in _missing(facts, info, lineage):
            here = store if store.file == facts.module.path else read
            if here.file != facts.module.path or here in told:
                continue
            told.add(here)
            other, what = (read, "read here, on all ranks") if here is store else (store, "set here, on local rank 0")
            asked = Unconfirmed(here, RelatedRole.UNSTARTED)
            message = f"Lightning calls prepare_data on local rank 0 alone: the other ranks have no attribute `{name}`"
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
) -> Iterator[tuple[str, SourceSite, SourceSite]]:
    """(attribute, where `prepare_data` sets it, where a hook reads it) of what nothing else sets."""
    methods = _methods(lineage)
    prepared = set(_ordered(methods, [methods[_PREPARES]]))
    prepared -= set(_ordered(methods, [method for method in methods.values() if method not in prepared]))
    heirs = [cls for cls in facts.module.classes if cls is not info and info in mro(facts.analysis, cls)]
    known = _set(facts, [*lineage, *heirs], prepared) | methods.keys()
    hooks = _ordered(methods, [methods[name] for name in _HOOKS if name in methods])
    for name, store in sorted(_stores(prepared).items()):
        read = next((site for method in hooks for site in _reads(method, name)), None) if name not in known else None
        if read is not None:
            yield name, store, read


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


def _reads(method: FunctionInfo, name: str) -> Iterator[SourceSite]:
    """Where a method reads the attribute, unless it asks for the rank, or is ready for its absence."""
    nodes = walk(method.node)
    named = {node.attr for node in nodes if isinstance(node, ast.Attribute)} | method.reads | method.marks
    if named & _OF_RANK or any(isinstance(node, ast.Try) for node in nodes):
        return
    for node in _own(method):
        if node.attr == name and isinstance(node.ctx, ast.Load):
            yield site_of(method.module, node)


def _set(facts: ModuleFacts, classes: list[ClassInfo], prepared: set[FunctionInfo]) -> set[str]:
    """Attributes that something else sets or may set: other methods, the class body, code outside; and those that the
    class names in a text."""
    names: set[str] = set()
    for module in (facts.module, *facts.analysis.reached.values()):
        names |= module.given
    for cls in classes:
        names |= {node.value for node in walk(cls.node) if isinstance(node, ast.Constant) and type(node.value) is str}
        names |= {
            target.id for statement in cls.node.body for target in _targets(statement) if isinstance(target, ast.Name)
        }
        others = (method for method in cls.methods.values() if method not in prepared)
        names |= {node.attr for m in others for node in _own(m) if not isinstance(node.ctx, ast.Load)}
    return names


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AnnAssign) and statement.value is not None else []
