"""A function or keyword that torch.distributed does not have

## What it does
Finds names of `torch.distributed`, members of `ReduceOp` and keywords of its functions that do not exist in the
selected version of torch (`--torch-version`, otherwise the newest known). Of the rest of torch it knows what torch 2 no
longer has: `torch._six`, a warning, and private methods of DistributedDataParallel, such as `_sync_params_and_buffers`.

## Why it harms
AttributeError, ImportError or TypeError is raised when the line is reached: on one rank only if the line is in rank 0's
summary, after hours if it is at the end of an epoch.

## Example
```python
dist.allreduce(loss, op=dist.ReduceOp.MEAN)
```

## Use instead
```python
dist.all_reduce(loss, op=dist.ReduceOp.AVG)
```

## Fix safety
Safe for well-known misspellings: only the name changes.

## When it is wrong
When the program runs with another torch than the selected one: use `--torch-version`. Where a text of the repository
asks for torch 1, or for an image with it, a name that was removed later is a hint, and so is one that is not known at
all. A name that is not a known misspelling may belong to a later torch, and is a warning. Names used inside a `try`,
tested with `hasattr`, used under a version test or set by the program itself are not reported, nor is anything else
that is private. A test for some version and all later ones (`TORCH_VERSION >= (1, 7)`) does not keep a method that is
gone.

An error is for what surely runs: in a function, it is a hint under a condition that reads no setting of the job and no
rank, under one on a parameter's flag, and where the function has refused to be one of several ranks. A condition on
what a loop goes through, on a counter or on the process group holds at some time.

## References
https://docs.pytorch.org/docs/stable/distributed.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ddpdoctor.lint.facts import doubtful_lines
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.knowledge import torch_api
from ddpdoctor.lint.knowledge.renames import GONE
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model import c10d
from ddpdoctor.model.finding import Applicability, Edit, Finding, Fix, Related, RelatedRole, Severity
from ddpdoctor.model.record import replace
from ddpdoctor.program.modules import Module
from ddpdoctor.program.sites import site_of
from ddpdoctor.program.text import text_of

RULE = LintRule("DD127", "unknown-distributed-api", Severity.ERROR, advice="use a name that this version of torch has")

_PACKAGE = "torch.distributed"
_VERSION_WORDS = ("version", "hasattr", "getattr", "TORCH", "torch_greater", "is_torch", "digit_version")


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Every name that is read from torch.distributed, and the keywords of its functions."""
    if facts.torch_version > c10d.NEWEST or "distributed" not in facts.module.text.lower():
        return
    aliases = _aliases(facts)
    yield from _told_once(_attributes(facts, aliases))
    yield from _imports(facts)
    for call in facts.module.of(ast.Call):
        yield from _keywords(facts, call, aliases)
    yield from _gone(facts)


def _gone(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Modules of torch, and private methods of its wrapper, that torch 2 no longer has."""
    shown = ".".join(map(str, facts.torch_version))
    if facts.torch_version < _TORCH_2:
        return
    imports: list[tuple[ast.stmt, str]] = [(s, s.module or "") for s in facts.module.of(ast.ImportFrom) if not s.level]
    imports += [(s, alias.name) for s in facts.module.of(ast.Import) for alias in s.names]
    for statement, gone in imports:
        if gone in GONE and not _guarded(facts, statement):
            message = f"torch {shown} has no {gone} any more: every rank ends with this import"
            older = Unconfirmed(site_of(facts.module, statement), RelatedRole.UNSTARTED)
            yield facts.finding(RULE, statement, message, unconfirmed=older, severity=Severity.WARNING)
    for node in facts.module.of(ast.Attribute) if "DistributedDataParallel" in facts.module.words else ():
        asks = node.attr in torch_api.GONE_FROM_WRAPPER and isinstance(facts.parents.get(node), ast.Call)
        if asks and not _is_own(facts, node.attr) and not _guarded(facts, node, lower=True):
            message = f"torch {shown}'s DistributedDataParallel has no {node.attr} any more: AttributeError"
            older = Unconfirmed(site_of(facts.module, node), RelatedRole.UNSTARTED)
            yield _told(facts, node, message, unconfirmed=older)


_TORCH_2 = (2, 0)


def _told(
    facts: ModuleFacts, node: ast.AST, message: str, *, fix: Fix | None = None, unconfirmed: Unconfirmed | None = None
) -> Finding | None:
    """The error; a hint where the program may never come to the line."""
    doubt = doubtful_lines.doubt(facts, node)
    severity = Severity.HINT if doubt else Severity.ERROR
    return facts.finding(RULE, node, Conditional(doubt, message), fix=fix, severity=severity, unconfirmed=unconfirmed)


def _is_own(facts: ModuleFacts, name: str) -> bool:
    """Whether the file asks for the name, or a class of the project has a method of it."""
    modules = facts.modules
    return name in _asked_for(facts) or any(n.name == name for module in modules for n in module.of(ast.FunctionDef))


def _told_once(found: Iterator[Finding | None]) -> Iterator[Finding | None]:
    """A name that torch does not have is one mistake, wherever it is used: its first place, with the others."""
    by_message: dict[tuple[str, Severity], list[Finding]] = {}
    for finding in found:
        if finding is None or finding.fix is not None:
            yield finding
        else:
            by_message.setdefault((finding.message, finding.severity), []).append(finding)
    for same in by_message.values():
        first, *others = sorted(same, key=lambda finding: (finding.line, finding.column))
        more = tuple(Related(other.file, other.line, "it is used here, too") for other in others)
        yield replace(first, related=(*first.related, *more))


def _attributes(facts: ModuleFacts, aliases: set[str]) -> Iterator[Finding | None]:
    attributes = facts.module.of(ast.Attribute)
    patched = {n.attr for n in attributes if not isinstance(n.ctx, ast.Load)} | _asked_for(facts)
    # the context of a name is examined last: most names are fine
    for node in attributes:
        if not isinstance(node.ctx, ast.Load) or node.attr in patched:
            continue
        if _is_package(node.value, aliases):
            yield from (f for f in _name(facts, node, node.attr, fixable=True) if not _guarded(facts, node))
        elif not _of_reductions(node.attr) and _is_reduction(facts, node.value, aliases):
            meant = "AVG" if node.attr in ("MEAN", "AVERAGE") else _close(node.attr, torch_api.REDUCTIONS)
            if not _guarded(facts, node):
                yield _told(facts, node, f"ReduceOp has no {node.attr}{_hint(meant)}")


def _of_reductions(name: str) -> bool:
    """Whether `ReduceOp` has the name, as each class has `__members__` and the like."""
    return name in torch_api.REDUCTIONS or (name.startswith("__") and name.endswith("__"))


def _imports(facts: ModuleFacts) -> Iterator[Finding | None]:
    for statement in facts.module.of(ast.ImportFrom):
        if statement.module != _PACKAGE or statement.level:
            continue
        for alias in statement.names:
            if alias.name != "*":
                found = _name(facts, alias, alias.name, fixable=False)
                yield from (f for f in found if not _guarded(facts, statement))


def _aliases(facts: ModuleFacts) -> set[str]:
    """Names that mean torch.distributed everywhere in the file."""
    meant: dict[str, set[str]] = {}
    module = facts.module
    for plain in module.of(ast.Import):
        for alias in plain.names:
            meant.setdefault(alias.asname or alias.name.partition(".")[0], set()).add(
                alias.name if alias.asname else alias.name.partition(".")[0]
            )
    for source in module.of(ast.ImportFrom):
        for alias in source.names:
            full = f"{source.module}.{alias.name}" if not source.level else "."
            meant.setdefault(alias.asname or alias.name, set()).add(full)
    candidates = {name: targets for name, targets in meant.items() if targets in ({_PACKAGE}, {"torch"})}
    for name in _bound(module) if candidates else ():
        candidates.pop(name, None)
    found = {name for name, targets in candidates.items() if targets == {_PACKAGE}}
    return found | {f"{name}.distributed" for name, targets in candidates.items() if targets == {"torch"}}


def _bound(module: Module) -> Iterator[str]:
    """Names that something other than an import gives a value."""
    yield from (a.arg for a in module.of(ast.arg))
    yield from (n.id for n in module.of(ast.Name) if n.ctx.__class__ is not ast.Load)
    yield from (f.name for f in module.of(ast.FunctionDef))
    yield from (f.name for f in module.of(ast.AsyncFunctionDef))
    yield from (c.name for c in module.of(ast.ClassDef))


def _is_package(node: ast.expr, aliases: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in aliases
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and f"{node.value.id}.{node.attr}" in aliases
    )


def _is_reduction(facts: ModuleFacts, node: ast.expr, aliases: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return facts.module.imports.get(node.id) == f"{_PACKAGE}.ReduceOp" and node.id not in facts.module.bindings
    return isinstance(node, ast.Attribute) and node.attr == "ReduceOp" and _is_package(node.value, aliases)


def _name(facts: ModuleFacts, node: ast.AST, name: str, *, fixable: bool) -> Iterator[Finding | None]:
    """Check one name; classes and private names are not in the table."""
    if name.startswith("_") or not name.islower() or name in torch_api.VENDORS:
        return
    version = facts.torch_version
    shown = ".".join(map(str, version))
    function = c10d.FUNCTIONS.get(name)
    known = function is not None or name in torch_api.OTHERS
    if name in torch_api.REMOVED:
        if version >= torch_api.REMOVED[name]:
            older = Unconfirmed(site_of(facts.module, node), RelatedRole.UNSTARTED)
            message = f"torch {shown} has no torch.distributed.{name} any more"
            yield _told(facts, node, message, unconfirmed=older)
    elif function is not None and version < function.since:
        since = ".".join(map(str, function.since))
        yield _told(facts, node, f"torch {shown} has no torch.distributed.{name}: added in {since} or later")
    elif not known and (version >= c10d.NEWEST or name in torch_api.TYPOS):
        meant = torch_api.TYPOS.get(name) or _close(name, c10d.FUNCTIONS)
        message = f"torch {shown} has no torch.distributed.{name}{_hint(meant)}"
        if name in torch_api.TYPOS:
            yield _told(facts, node, message, fix=_fix(facts, node) if fixable else None)
            return
        # an unknown name that is not a known misspelling may belong to a later torch than the table knows, which does
        # not know all that early versions had either
        older = Unconfirmed(site_of(facts.module, node), RelatedRole.UNSTARTED)
        yield facts.finding(RULE, node, message, severity=Severity.WARNING, unconfirmed=older)


def _fix(facts: ModuleFacts, node: ast.AST) -> Fix | None:
    if not isinstance(node, ast.Attribute):
        return None
    end = site_of(facts.module, node)
    start = end.end_column - len(node.attr)
    return Fix(
        Applicability.SAFE, (Edit(end.end_line, start, end.end_line, end.end_column, torch_api.TYPOS[node.attr]),)
    )


def _in_signature(facts: ModuleFacts, keyword: str) -> bool:
    """Whether the file asks a function's signature for the keyword: `"x" in inspect.signature(f).parameters`."""
    return any(
        isinstance(node.left, ast.Constant) and node.left.value == keyword and isinstance(node.ops[0], ast.In)
        and any(isinstance(n, ast.Attribute) and n.attr in _SIGNATURES for n in ast.walk(node.comparators[0]))
        for node in facts.module.of(ast.Compare)
    )  # fmt: skip


#: functions of inspect, and attributes of functions, that hold the names of parameters
_SIGNATURES = frozenset({"signature", "getfullargspec", "co_varnames", "__kwdefaults__"})


def _keywords(facts: ModuleFacts, call: ast.Call, aliases: set[str]) -> Iterator[Finding | None]:
    func = call.func
    name = ""
    if isinstance(func, ast.Attribute) and _is_package(func.value, aliases):
        name = func.attr
    elif isinstance(func, ast.Name) and func.id not in facts.module.bindings:
        package, _, name = facts.module.imports.get(func.id, "").rpartition(".")
        name = name if package == _PACKAGE else ""
    function = c10d.FUNCTIONS.get(name)
    if function is None:
        return
    taken = function.parameters
    version = facts.torch_version
    for keyword in call.keywords:
        since = function.added.get(keyword.arg or "", (0, 0))
        private = keyword.arg is None or keyword.arg.startswith("_")
        if keyword.arg is None or private or (keyword.arg in taken and version >= since):
            continue
        if _in_signature(facts, keyword.arg):
            continue
        if keyword.arg in taken:
            came = ".".join(map(str, since))
            message = f"{name} takes no keyword {keyword.arg} before torch {came}: TypeError"
        elif version >= c10d.NEWEST:
            message = f"{name} takes no keyword {keyword.arg} (TypeError){_hint(_close(keyword.arg, taken))}"
        else:
            continue
        if not _guarded(facts, call):
            yield _told(facts, keyword.value, message)


def _is_from_on(test: ast.expr) -> bool:
    """`TORCH_VERSION >= (1, 7)`"""
    return isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Gt, ast.GtE))


def _close(name: str, known: Iterable[str]) -> str:
    import difflib

    found = difflib.get_close_matches(name, sorted(word for word in known if not word.startswith("_")), 1, 0.75)
    return found[0] if found else ""


def _hint(meant: str) -> str:
    return f"; did you mean {meant}?" if meant else ""


def _asked_for(facts: ModuleFacts) -> set[str]:
    """Names that the file tests for as strings: `hasattr(dist, "name")`."""
    return {
        a.value
        for n in facts.module.of(ast.Call)
        if isinstance(n.func, ast.Name) and n.func.id in ("hasattr", "getattr", "setattr")
        for a in n.args[1:2]
        if isinstance(a, ast.Constant) and isinstance(a.value, str)
    }


def _guarded(facts: ModuleFacts, node: ast.AST, *, lower: bool = False) -> bool:
    """In a `try`, or under a test of the version or of what is there; with `lower`, one that the newest versions pass
    is none."""
    child, parent = node, facts.parents.get(node)
    while parent is not None:
        if isinstance(parent, ast.Try) and parent.handlers and child in parent.body:
            return True
        if isinstance(parent, (ast.If, ast.IfExp, ast.BoolOp)) and child is not getattr(parent, "test", None):
            test = text_of(parent.test if isinstance(parent, (ast.If, ast.IfExp)) else parent)
            newest = lower and isinstance(parent, ast.If) and child in parent.body and _is_from_on(parent.test)
            if not newest and any(word in test for word in _VERSION_WORDS):
                return True
        if isinstance(parent, ast.With) and "raises" in text_of(parent.items[0].context_expr).lower():
            return True
        child, parent = parent, facts.parents.get(parent)
    return False
