"""A question about the rank is not asked: its parentheses are missing

## What it does
Finds conditions that consist of a function which asks for the rank or the process group, without a call:
`if is_main_process:`, `if dist.is_initialized and ...`.

## Why it harms
A function is always true. What only one rank should do is done by all, or what needs a process group is done without
one. Nothing fails at this line.

## Example
```python
if is_main_process and step == last:
    stop(trainer)
```

## Use instead
```python
if is_main_process() and step == last:
    stop(trainer)
```

## Fix safety
Unsafe: the parentheses are added, and the condition can become false for the first time.

## When it is wrong
When the name may be None, and the condition asks whether there is such a function. Names that the function around the
condition sets or is given, properties and decorated functions are not reported. A branch that only prints or logs, and
asks the process group nothing, is a hint: every rank then says what one of them should.

## References
https://docs.python.org/3/library/stdtypes.html#truth-value-testing
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import edits
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.names import global_value
from ddpdoctor.lint.knowledge import aliases, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Function, LocalModule
from ddpdoctor.model.finding import Applicability, Finding, Fix, Severity
from ddpdoctor.program.enclosing import functions_around
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of

RULE = LintRule(
    "DD129",
    "rank-test-not-called",
    Severity.ERROR,
    advice="call the function in the condition",
)

#: functions of torch that ask
_ASKING = frozenset(
    f"torch.distributed.{name}"
    for name in ("is_initialized", "is_available", "get_rank", "get_world_size", "is_nccl_available")
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Bare functions in conditions."""
    for node in _asked(facts):
        path = aliases.canonical(facts.module.imported(node))
        name = last_name(node)
        if path not in _ASKING and not (heuristics.NAMES_RANK.found_in(name) and _is_function(facts, node)):
            continue
        if not _is_set_around(facts, node):
            message = f"`{text_of(node)}` is a function, which is always true: call it"
            fix = Fix(Applicability.UNSAFE, (edits.behind(facts.module, node, "()"),))
            severity = Severity.HINT if _only_tells(facts, node) else Severity.ERROR
            yield facts.finding(RULE, node, message, fix=fix, severity=severity)


def _only_tells(facts: ModuleFacts, node: ast.expr) -> bool:
    """Whether the branch that the condition decides only prints, logs, or makes folders that may be there, and asks the
    process group nothing."""
    parent: ast.AST | None = node
    while isinstance(parent, ast.expr):
        parent = facts.parents.get(parent)
    if not isinstance(parent, ast.If):
        return False
    block = [*parent.body, *parent.orelse]
    if not all(isinstance(s, ast.Expr) and _tells(s.value) for s in block):
        return False
    first, last = block[0].lineno, block[-1].end_lineno or 0
    if any(item.within(facts.module.path, first, last) is not None for item in facts.reached):
        return False
    calls = (part for statement in block for part in walk(statement) if isinstance(part, ast.Call))
    return not any((facts.module.imported(call.func) or "").startswith(_GROUP) for call in calls)


def _tells(value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    name = last_name(value.func)
    again = any(k.arg == "exist_ok" and isinstance(k.value, ast.Constant) and k.value.value for k in value.keywords)
    return name in _TELLING or name in _ENSURING or (again and name in ("makedirs", "mkdir"))


#: functions and methods that put out a text
_TELLING = frozenset({"print", "pprint", "debug", "info", "warning", "warn", "error", "log", "critical"})
#: what people call a function that makes a folder unless it is there
_ENSURING = frozenset({"ensure_dir", "ensure_directory", "ensure_folder", "mkdir_or_exist", "mkdirs", "maybe_mkdir"})
_GROUP = "torch.distributed."


def _asked(facts: ModuleFacts) -> Iterator[ast.Name | ast.Attribute]:
    """Names that a condition, or a side of `and`, `or`, `not` in one, consists of."""
    module = facts.module
    tests = [n.test for n in module.of(ast.If)]
    tests += [n.test for n in module.of(ast.IfExp)] + [n.test for n in module.of(ast.While)]
    while tests:
        test = tests.pop()
        if isinstance(test, ast.BoolOp):
            tests.extend(test.values)
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            tests.append(test.operand)
        elif isinstance(test, (ast.Name, ast.Attribute)):
            yield test


def _is_function(facts: ModuleFacts, node: ast.Name | ast.Attribute) -> bool:
    """Whether it certainly is an undecorated function of the project."""
    owner = node.value if isinstance(node, ast.Attribute) else None
    if owner is None and isinstance(node, ast.Name):
        value = global_value(facts.analysis, facts.module, node.id)
        found = value.object.info if value is not None and isinstance(value.object, Function) else None
    elif isinstance(owner, ast.Name) and isinstance(node, ast.Attribute):
        found = _method(facts, node) if owner.id == "self" else _member(facts, owner.id, node.attr)
    else:
        found = None
    return found is not None and not found.decorators and not isinstance(found.node, ast.Lambda)


def _member(facts: ModuleFacts, name: str, attribute: str) -> FunctionInfo | None:
    value = global_value(facts.analysis, facts.module, name)
    inner = value.object.module if value is not None and isinstance(value.object, LocalModule) else None
    return next((f for f in inner.functions if f.name == attribute), None) if inner is not None else None


def _method(facts: ModuleFacts, node: ast.Attribute) -> FunctionInfo | None:
    """The method of the class around, if no method stores something else under its name."""
    for info in facts.module.classes:
        if info.node.lineno <= node.lineno <= (info.node.end_lineno or 0) and node.attr not in info.stores:
            return info.methods.get(node.attr)
    return None


def _is_set_around(facts: ModuleFacts, node: ast.Name | ast.Attribute) -> bool:
    """Whether a function around the condition sets the name, or is given it."""
    base: ast.expr = node
    while isinstance(base, ast.Attribute):
        base = base.value
    name = base.id if isinstance(base, ast.Name) else ""
    for function in functions_around(facts.module.tree, node.lineno):
        for inner in walk(function):
            if isinstance(inner, ast.arg) and inner.arg == name != "self":
                return True
            if isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Store):
                return True
    return False
