"""The deprecated launcher

## What it does
Finds `torch.distributed.launch` in the strings of a program (for example in a command that it starts) and as an import.

## Why it harms
It has been deprecated since torch 1.10 and passes `--local-rank` to the script. Since torch 2.0 this spelling differs
from the one that scripts of its time expect. It supports neither restarts nor an elastic rendezvous.

## Example
```python
subprocess.run(["python", "-m", "torch.distributed.launch", "--use_env", "train.py"])
```

## Use instead
```python
subprocess.run(["torchrun", "train.py"])
```

## Fix safety
Unsafe: `torch.distributed.run`, which is torchrun, passes no `--local-rank`; the script must read LOCAL_RANK.

## When it is wrong
When the command is for a machine with an older torch. Comments, docstrings and commands selected by version are not
reported.

## References
https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.knowledge.renames import asks_version
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Applicability, Edit, Finding, Fix, Severity
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import children, walk
from ddpdoctor.program.sites import site_of

RULE = LintRule(
    "DD145",
    "deprecated-launcher",
    Severity.HINT,
    advice="start it with torchrun, and read LOCAL_RANK from the environment",
)

_OLD = late_pattern(r"\btorch\.distributed\.launch\b(?!er)")
#: an option that torchrun does not know
_ENV = late_pattern(r" *--use[_-]env\b")
_MESSAGE = "torch.distributed.launch is deprecated since torch 1.10: use torchrun, and read LOCAL_RANK in the script"


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Strings and imports that name the old launcher."""
    if facts.torch_version < (1, 10) or "launch" not in facts.module.text or not _is_named(facts.module):
        return
    prose = _prose(facts.module.tree)
    stack: list[ast.AST] = [facts.module.tree]
    while stack:
        node = stack.pop()
        if asks_version(node):
            continue
        stack.extend(children(node))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            if _OLD.search(node.value):
                yield facts.finding(RULE, node, _MESSAGE, fix=_fix(facts, node))
        elif _imports(node):
            yield facts.finding(RULE, node, _MESSAGE)


def _is_named(module: Module) -> bool:
    """Whether the old launcher is named at all, be it in prose or under a version test."""
    texts = (node.value for node in module.of(ast.Constant) if isinstance(node.value, str))
    imports: list[ast.AST] = [*module.of(ast.Import), *module.of(ast.ImportFrom)]
    return any(map(_OLD.search, texts)) or any(map(_imports, imports))


def _prose(tree: ast.Module) -> set[int]:
    """Strings that are statements: docstrings, and code disabled by quotes."""
    return {id(n.value) for n in walk(tree) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)}


def _imports(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name == "torch.distributed.launch" for alias in node.names)
    if isinstance(node, ast.ImportFrom) and not node.level:
        inside = node.module == "torch.distributed.launch"
        return inside or (node.module == "torch.distributed" and any(a.name == "launch" for a in node.names))
    return False


def _fix(facts: ModuleFacts, node: ast.Constant) -> Fix | None:
    """`torch.distributed.run` in its place, without the option that it no longer has."""
    at = site_of(facts.module, node)
    if at.line != at.end_line:
        return None
    source = facts.module.lines[at.line - 1][at.column - 1 : at.end_column - 1]
    if _ENV.search(facts.module.text.replace(source, "")):
        return None
    renamed = _ENV.sub("", _OLD.sub("torch.distributed.run", source))
    if renamed == source:
        return None
    return Fix(Applicability.UNSAFE, (Edit(at.line, at.column, at.end_line, at.end_column, renamed),))
