"""A rendezvous address written into the program

## What it does
Finds `os.environ["MASTER_PORT"] = "29500"` and `init_method="tcp://127.0.0.1:29500"`, where the port is a literal. A
`MASTER_ADDR` that is set to the number of one machine, such as `"10.1.2.3"`, is a warning.

## Why it harms
Two jobs on one machine use the same port: the second fails with "address already in use", or its ranks join the
rendezvous of the first. Under torchrun the assignment also overwrites the port that the launcher has chosen. Where the
address is that of one machine, the ranks wait for each other on any other one until the time is up.

## Example
```python
os.environ["MASTER_PORT"] = "29500"
```

## Use instead
```python
os.environ.setdefault("MASTER_PORT", "29500")
```

## Fix safety
Unsafe: the assignment becomes a `setdefault`, which keeps the value set by the launcher.

## When it is wrong
On a machine that never runs a second job. Assignments under a condition on the environment are not reported.

## References
https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import devices
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Applicability, Edit, Finding, Fix, Severity
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.program.nodes import children, walk
from ddpdoctor.program.sites import site_of

RULE = LintRule(
    "DD148",
    "hard-coded-rendezvous",
    Severity.HINT,
    advice="let the launcher choose address and port: torchrun sets them in the environment",
)

#: the number of one machine, and not that of whichever it runs on
_MACHINE = late_pattern(r"(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}")
_TCP = late_pattern(r"tcp://[^/]*:(\d+)")


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Literal ports, and addresses of one machine."""
    if "MASTER_PORT" in facts.module.text or "MASTER_ADDR" in facts.module.text:
        yield from _assignments(facts)
    for group in facts.named(devices.GROUP):
        texts = devices.texts_of(group, 1, "init_method")
        fixed = next((m for text in sorted(texts) if (m := _TCP.match(text)) and m[1] != "0"), None)
        if fixed is not None:
            message = f"port {fixed[1]} is hard-coded: a second job on this machine cannot start"
            yield facts.finding(RULE, group.site, message)


def _assignments(facts: ModuleFacts) -> Iterator[Finding | None]:
    stack: list[tuple[ast.AST, bool]] = [(facts.module.tree, False)]
    while stack:
        node, asked = stack.pop()
        if isinstance(node, (ast.If, ast.IfExp)):
            asked = asked or _asks_environment(node.test)
        if isinstance(node, ast.Assign) and not asked:
            fixed = _fixed(node, "MASTER_PORT")
            if fixed is not None and fixed != "0":
                message = (
                    "MASTER_PORT is overwritten with a fixed port, and the launcher's choice is lost: use setdefault"
                )
                yield facts.finding(RULE, node, message, fix=_fix(facts, node))
            address = _fixed(node, "MASTER_ADDR")
            if address is not None and _MACHINE.fullmatch(address):
                message = f"unless the first rank runs on {address}, the ranks never meet: use setdefault"
                yield facts.finding(RULE, node, message, fix=_fix(facts, node), severity=Severity.WARNING)
        stack.extend((child, asked) for child in children(node))


def _asks_environment(test: ast.expr) -> bool:
    """A condition on a launcher's variable, or on the environment as such."""
    return any(
        (isinstance(n, ast.Attribute) and n.attr in ("environ", "getenv"))
        or (isinstance(n, ast.Constant) and n.value in ("MASTER_PORT", "MASTER_ADDR", "RANK", "WORLD_SIZE"))
        for n in walk(test)
    )


def _fixed(node: ast.Assign, name: str) -> str | None:
    """The literal to which it sets this variable of the environment."""
    target = node.targets[0]
    if len(node.targets) != 1 or not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Attribute):
        return None
    key = target.slice.value if isinstance(target.slice, ast.Constant) else None
    value = node.value.value if isinstance(node.value, ast.Constant) else None
    return value if target.value.attr == "environ" and key == name and isinstance(value, str) else None


def _fix(facts: ModuleFacts, node: ast.Assign) -> Fix | None:
    target = node.targets[0]
    assert isinstance(target, ast.Subscript)
    environ = ast.get_source_segment(facts.module.text, target.value)
    key = ast.get_source_segment(facts.module.text, target.slice)
    value = ast.get_source_segment(facts.module.text, node.value)
    if environ is None or key is None or value is None:
        return None
    at = site_of(facts.module, node)
    text = f"{environ}.setdefault({key}, {value})"
    return Fix(Applicability.UNSAFE, (Edit(at.line, at.column, at.end_line, at.end_column, text),))
