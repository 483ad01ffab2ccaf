"""ReduceOp.AVG on a backend that does not support it

## What it does
Finds collectives with `ReduceOp.AVG` in a file whose group runs on gloo, for torch before 2.8, or on MPI.

## Why it harms
There, only NCCL supports averaging. gloo raises "Cannot use ReduceOp.AVG with Gloo", so the script works on GPUs and
fails when it is tested on CPUs.

## Example
```python
dist.all_reduce(loss, op=dist.ReduceOp.AVG)
```

## Use instead
```python
dist.all_reduce(loss, op=dist.ReduceOp.SUM)
loss /= dist.get_world_size()
```

## Fix safety
Unsafe: `SUM` and a division by the world size, which is wrong for integers.

## When it is wrong
When the process group in use is not one of those that the file creates.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.ReduceOp
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import devices
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import External
from ddpdoctor.model.finding import Applicability, Edit, Finding, Fix, Severity
from ddpdoctor.program.sites import site_of

RULE = LintRule(
    "DD183", "reduceop-avg-portability", Severity.HINT, advice="reduce with SUM and divide by the number of ranks"
)

#: collectives that reduce, with the position of `op`
_REDUCING = {
    "all_reduce": 1, "reduce": 2, "reduce_scatter": 2, "reduce_scatter_tensor": 2, "reduce_scatter_single": 2,
}  # fmt: skip
#: gloo averages from here on
_GLOO_AVERAGES = (2, 8)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Averages over a backend that cannot."""
    texts = {t.lower() for g in facts.named(devices.GROUP) for t in devices.texts_of(g, 0, "backend")}
    gloo = any("gloo" in t for t in texts) and facts.torch_version < _GLOO_AVERAGES
    if not gloo and not any("mpi" in t for t in texts):
        return
    backend = "gloo before torch 2.8" if gloo else "MPI"
    for name, position in _REDUCING.items():
        for call in facts.named(f"torch.distributed.{name}"):
            op = call.argument(position, "op")
            asked = isinstance(op.object, External) and op.object.path.endswith("ReduceOp.AVG") if op else False
            if asked and devices.default_group(call) and not _on_nccl_only(call):
                message = f"{backend} does not support ReduceOp.AVG: use SUM and divide by the world size"
                yield facts.finding(RULE, call.site, message, fix=_fix(facts, call), context=call.context)


def _on_nccl_only(call: CallEvent) -> bool:
    return any("nccl" in g.text.lower() or "cuda" in g.text.lower() for g in call.context.guards)


def _fix(facts: ModuleFacts, call: CallEvent) -> Fix | None:
    """`SUM`, and a division on a separate line; only for a statement that reduces a variable."""
    func, tensor = call.node.func, call.node.args[0] if call.node.args else None
    op = devices.written(call, _REDUCING[call.path.rpartition(".")[2]], "op")
    simple = call.unused and call.path.endswith("all_reduce") and call.keyword("async_op") is None
    if not simple or not isinstance(func, ast.Attribute) or not isinstance(tensor, ast.Name):
        return None
    if not isinstance(op, ast.Attribute) or call.site.file != facts.module.path:
        return None
    module = ast.get_source_segment(facts.module.text, func.value)
    indent = facts.module.lines[call.site.line - 1][: call.site.column - 1]
    at = site_of(facts.module, op)
    if module is None or indent.strip():
        return None
    division = f"\n{indent}{tensor.id} /= {module}.get_world_size()"
    edits = (
        Edit(at.end_line, at.end_column - len("AVG"), at.end_line, at.end_column, "SUM"),
        Edit(call.site.end_line, call.site.end_column, call.site.end_line, call.site.end_column, division),
    )
    return Fix(Applicability.UNSAFE, edits)
