"""What is written into gathered parameters is lost

## What it does
Finds blocks of `deepspeed.zero.GatheredParameters` without `modifier_rank` that write into the parameters which they
gather: elements, `.data`, methods and `torch.nn.init` functions that work in place, and states that are loaded.

## Why it harms
Under ZeRO stage 3 each rank has a part of each parameter. Without `modifier_rank` the block is for reading: at its end
the gathered copy is dropped, and the parts are what they were. The values that were written are gone on all ranks, and
training goes on from the old ones without a message.

## Example
```python
with deepspeed.zero.GatheredParameters([embedding.weight]):
    embedding.weight.data[new_rows] = mean
```

## Use instead
```python
with deepspeed.zero.GatheredParameters([embedding.weight], modifier_rank=0):
    embedding.weight.data[new_rows] = mean
```

## Fix safety
No automatic fix: with `modifier_rank` the values of that rank reach all, and only they do.

## When it is wrong
Where the values are for the block alone, which saves them, computes with them or puts the old ones back: a block that
saves, exports, generates or takes a state is not reported. Below stage 3 the block does nothing, and what is written
stays.

## References
https://deepspeed.readthedocs.io/en/latest/zero3.html#deepspeed.zero.GatheredParameters
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import gathered_parameters
from ddpdoctor.lint.facts.gathered_parameters import Gathered
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import site_of
from ddpdoctor.program.text import text_of

_GATHERS = "GatheredParameters"
RULE = LintRule(
    "DD179",
    "gathered-parameters-write-lost",
    Severity.ERROR,
    words=frozenset({_GATHERS}),
    advice="pass modifier_rank, the rank whose values all ranks shall have",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """`with GatheredParameters(params): params[0].data.zero_()`"""
    blocks: list[ast.With | ast.AsyncWith] = [*facts.module.of(ast.With), *facts.module.of(ast.AsyncWith)]
    for block in blocks:
        scope = innermost_function(facts.module.tree, block.lineno) or facts.module.tree
        assigned = gathered_parameters.assigned_once(scope)
        entered = [assigned.get(text_of(item.context_expr), item.context_expr) for item in block.items]
        calls = [call for expr in entered for call in _gathering(facts, expr)]
        if not calls or _is_written_back(facts, scope, block) or _uses(block):
            continue
        for call in filter(_for_reading, calls):
            gathered = Gathered()
            gathered.add(call.args[0], assigned)
            written = next(gathered_parameters.writes(gathered, block.body), None)
            if written is not None:
                message = "without modifier_rank this block is for reading: what is written to its parameters is lost"
                related = ((site_of(facts.module, written), "written here"),)
                yield facts.finding(RULE, call, message, related=related)


def _gathering(facts: ModuleFacts, expr: ast.expr) -> list[ast.Call]:
    """The calls that gather, in what a block is entered with: `GatheredParameters(p) if zero3 else nullcontext()`."""
    if isinstance(expr, ast.IfExp):
        return [*_gathering(facts, expr.body), *_gathering(facts, expr.orelse)]
    if not isinstance(expr, ast.Call) or last_name(expr.func) != _GATHERS:
        return []
    return [expr] if facts.module.imported(expr.func).startswith("deepspeed.") else []


def _for_reading(call: ast.Call) -> bool:
    """Whether no rank's values are kept, for certain."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if None in given or not call.args or any(isinstance(argument, ast.Starred) for argument in call.args):
        return False
    rank = call.args[1] if len(call.args) > 1 else given.get("modifier_rank")
    enabled = call.args[3] if len(call.args) > 3 else given.get("enabled")
    off = isinstance(enabled, ast.Constant) and not enabled.value
    return not off and (rank is None or (isinstance(rank, ast.Constant) and rank.value is None))


def _is_written_back(facts: ModuleFacts, scope: ast.AST, block: ast.With | ast.AsyncWith) -> bool:
    """Whether a block around this one, or one that is entered with it, keeps what a rank writes."""
    around = [
        node
        for node in walk(scope)
        if isinstance(node, (ast.With, ast.AsyncWith)) and node.lineno <= block.lineno <= (node.end_lineno or 0)
    ]
    calls = [call for node in around for item in node.items for call in _gathering(facts, item.context_expr)]
    return not all(map(_for_reading, calls))


def _uses(block: ast.With | ast.AsyncWith) -> bool:
    """Whether the block uses what it may have written, or puts the old values back."""
    called = (last_name(n.func) for s in block.body for n in walk(s) if isinstance(n, ast.Call))
    return heuristics.USES_GATHERED.found_in_any(called)
