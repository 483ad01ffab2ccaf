"""The local rank guards work that the whole job must do once

## What it does
Finds checkpoints, files that are added to, and experiment trackers under `local_rank == 0` (or
`is_local_main_process`), one finding for a file. The local rank may be that of the `TrainingArguments` of transformers,
or of a class of the project that extends them. It is a hint, which begins with the condition unless the file is told of
nodes (`--nnodes`, `node_rank`, Slurm's variables) or a script or text of the repository starts it on several.

## Why it harms
Every node has a local rank 0. On two nodes, two processes write the same file on the shared file system, and the
tracker gets two runs.

## Example
```python
if int(os.environ["LOCAL_RANK"]) == 0:
    torch.save(model.state_dict(), "last.pt")
```

## Use instead
```python
if dist.get_rank() == 0:
    torch.save(model.state_dict(), "last.pt")
```

## Fix safety
No automatic fix: the global rank may not be available there.

## When it is wrong
When every node needs a copy on its own disk. Paths that indicate this (`/tmp`, `cache`, `node`) and scripts written for
one machine are not reported.

## References
https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import launch, paths, written_files
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter.events import CallEvent, Guard
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Symbol, Taint, Value
from ddpdoctor.model.finding import Finding, RelatedRole, Severity

RULE = LintRule(
    "DD174", "local-rank-guards-global-work", Severity.HINT, advice="guard it by the global rank: rank == 0"
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Writes for the whole job on one rank a node, told once for the file."""
    if launch.one_node_only(facts):
        return
    guarded = list(_guarded(facts))
    if not guarded:
        return
    first, guard, does = min(guarded, key=lambda item: item[0].index)
    several = launch.told_of_nodes(facts)
    more = f" (and {len(guarded) - 1} more in this file)" if len(guarded) > 1 else ""
    message = Conditional(
        "" if several else "where there are several nodes that share their files, ",
        f"one rank on every node {does}: test the global rank, not the local rank{more}",
    )
    others = tuple((call.site, "the same here") for call, _, _ in guarded if call is not first)
    related = ((guard.site, "the condition"), *others[:_SHOWN])
    severity = Severity.WARNING if several else Severity.HINT
    open_ = Unconfirmed(first.site, RelatedRole.UNCONFIRMED) if not several else None
    yield facts.finding(
        RULE, first.site, message, related=related, context=first.context, severity=severity, unconfirmed=open_
    )


#: further places that the finding of a file names
_SHOWN = 20


def _guarded(facts: ModuleFacts) -> Iterator[tuple[CallEvent, Guard, str]]:
    """(call, the condition that lets one rank of each node do it, what it does)"""
    for call, path, node in (*written_files.files(facts), *written_files.appended(facts)):
        guard = _guard(call)
        if guard is not None and paths.one_path(facts, call, _as_of_one(path), node):
            yield call, guard, "writes this file"
    for call in written_files.runs(facts):
        guard = _guard(call)
        if guard is not None and call.path != "torch.utils.tensorboard.SummaryWriter":
            yield call, guard, "starts a run"


def _as_of_one(path: Value) -> Value:
    """The path as the first rank of a node knows it: what is put together behind the condition, no other rank has."""
    return path._replace(atoms=path.atoms[:1], taint=Taint.UNKNOWN) if path.taint is Taint.RANK else path


def _guard(call: CallEvent) -> Guard | None:
    """The condition that lets local rank 0 through, if no other selects a node."""
    chosen: Guard | None = None
    for guard in call.context.guards:
        if len(guard.truth) == 1:
            if any(word in guard.text.lower() for word in ("rank", "node", "main", "master", "host", "local")):
                return None
            continue
        if guard.value.tags & Tag.RANK or guard.value.tags & Tag.WORLD or "node" in guard.text.lower():
            return None
        if guard.value.tags & Tag.LOCAL_RANK and _only_first(guard):
            chosen = guard
    return chosen


def _only_first(guard: Guard) -> bool:
    """No other rank of a node comes through; local rank 0 does, or does under one more condition."""
    first, *others = guard.truth
    return (first is guard.side or isinstance(first, Symbol)) and all(atom is (not guard.side) for atom in others)
