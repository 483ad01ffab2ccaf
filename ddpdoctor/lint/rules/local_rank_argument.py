"""A script that accepts only --local_rank

## What it does
Finds `add_argument("--local_rank")` without `--local-rank`, where neither the file nor a file that it uses reads
LOCAL_RANK.

## Why it harms
Since torch 2.0 the old launcher passes `--local-rank`, and the script ends with "unrecognized arguments". torchrun
passes nothing: `local_rank` keeps its default on every rank, and all ranks use device 0.

## Example
```python
parser.add_argument("--local_rank", type=int, default=0)
```

## Use instead
```python
parser.add_argument("--local-rank", "--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))
```

## Fix safety
Unsafe: the other spelling is added; the source of the value is not changed.

## When it is wrong
DeepSpeed's launcher passes `--local_rank`; files that use it are not reported.

## References
https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Applicability, Edit, Finding, Fix, Severity
from ddpdoctor.program.sites import site_of

RULE = LintRule("DD146", "local-rank-argument", Severity.WARNING)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Options spelled with an underscore only."""
    text = facts.module.text
    # the launcher of DeepSpeed passes it with an underscore
    if facts.torch_version < (2, 0) or heuristics.DEEPSPEED_LAUNCHER.found_in(text):
        return
    if heuristics.READS_LOCAL_RANK.found_in_any(facts.texts):
        return
    for call in facts.methods("add_argument"):
        spelled = [a for a in call.node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        texts = {a.value for a in spelled}
        if "--local_rank" in texts and "--local-rank" not in texts:
            message = "torchrun sets LOCAL_RANK and passes no --local_rank; torch 2's old launcher passes --local-rank"
            at = site_of(facts.module, spelled[0])
            edit = Edit(at.line, at.column, at.line, at.column, '"--local-rank", ')
            yield facts.finding(RULE, call.site, message, fix=Fix(Applicability.UNSAFE, (edit,)))
