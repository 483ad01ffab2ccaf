"""The result of a collective is lost

## What it does
Finds in-place collectives on a temporary value (`all_reduce(x.float())`, `all_reduce(torch.tensor(n))`) whose result
cannot be read, and variables assigned from `all_reduce` and `broadcast`, which return None.

## Why it harms
The collective changes the temporary value, not the variable. Each rank silently continues with its own numbers.

## Example
```python
dist.all_reduce(loss.float())
log(loss)
```

## Use instead
```python
total = loss.float()
dist.all_reduce(total)
log(total)
```

## Fix safety
No automatic fix.

## When it is wrong
`x.contiguous()` and `x.to(...)` may return `x` itself, and then the code happens to work; these are reported as
warnings. Functional collectives return their result and are not reported.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule("DD118", "collective-result-lost", Severity.ERROR)


_LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Load, ast.UnaryOp, ast.USub)
_IN_PLACE = tuple(f"torch.distributed.{name}" for name in ("all_reduce", "broadcast"))
#: always create a new tensor
_COPIES = frozenset({"clone"})
#: create a new tensor unless there is nothing to do
_MAYBE_COPIES = frozenset({"contiguous", "cuda", "cpu", "to", "float", "double", "half", "long", "int", "bfloat16"})


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Temporaries as the tensor of an in-place collective; and their None taken for a result."""
    for call in facts.named(*_IN_PLACE):
        yield from _temporary(facts, call)
    yield from _none_bound(facts)


def _temporary(facts: ModuleFacts, call: CallEvent) -> Iterator[Finding | None]:
    tensor = call.node.args[0] if call.node.args else None
    if not isinstance(tensor, ast.Call) or not call.unused or call.path.endswith("broadcast"):
        return
    name = tensor.func.attr if isinstance(tensor.func, ast.Attribute) else ""
    if name not in _COPIES | _MAYBE_COPIES | {"tensor"} or _module_function(tensor, "tensor", name) or _empty(tensor):
        return
    op = call.path.rpartition(".")[2]
    message = f"{op} changes a temporary value that cannot be read: assign it to a name first"
    severity = Severity.WARNING if name in _MAYBE_COPIES else Severity.ERROR
    yield facts.finding(RULE, call.site, message, severity=severity)


def _empty(tensor: ast.expr) -> bool:
    """`torch.zeros(1).cuda()`: nothing is lost, the call only synchronises the ranks."""
    while isinstance(tensor, ast.Call) and isinstance(tensor.func, ast.Attribute):
        name, owner = tensor.func.attr, tensor.func.value
        if isinstance(owner, ast.Name) and owner.id == "torch":
            return name in ("zeros", "ones", "empty") or (name == "tensor" and _literal(tensor))
        tensor = owner
    return False


def _literal(call: ast.Call) -> bool:
    return bool(call.args) and all(isinstance(n, _LITERALS) for n in ast.walk(call.args[0]))


def _module_function(tensor: ast.Call, wanted: str, name: str) -> bool:
    """`anything.tensor(...)` that is not torch's."""
    func = tensor.func
    return name == wanted and not (
        isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "torch"
    )


def _none_bound(facts: ModuleFacts) -> Iterator[Finding | None]:
    bound = {id(call.node): call for call in facts.named(*_IN_PLACE) if call.keyword("async_op") is None}
    for target, node in facts.assignments:
        call = bound.get(id(node))
        if call is not None and not call.opaque and len(call.args) <= 3 and target != "_":
            op = call.path.rpartition(".")[2]
            yield facts.finding(RULE, call.site, f"{op} works in place and returns None: `{target}` will be None")
