"""A loop that sleeps until a file exists, instead of a barrier

## What it does
Finds loops that sleep while a file does not exist, in programs that have a process group, and those that only some
ranks run. The finding is a hint. It is a warning if another rank writes the file under its own name, and it is read
after the wait, but where only other machines wait; an error if the rank that writes the file does so only after a
collective in which it waits for those that wait here.

## Why it harms
The file exists before it is complete, so the reader may find half of it. A file left over from the previous run lets a
rank through at once. If the writer fails or waits itself, the others poll for ever, without a timeout and without a log
message.

## Example
```python
if rank == 0:
    preprocess(path)
while not os.path.exists(path):
    time.sleep(1)
```

## Use instead
```python
if rank == 0:
    preprocess(path)
dist.barrier()
```

## Fix safety
No automatic fix.

## When it is wrong
When the work takes longer than the group's timeout (use a separate group with a longer one), or another job writes the
file. Waiting after a barrier until a file system shows what was written, and loops with a deadline, are not reported.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.monitored_barrier
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import polled_files
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.ranks.polling import StuckPoll
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.nodes import last_name, names_in, walk
from ddpdoctor.program.sites import site_of

RULE = LintRule(
    "DD126",
    "polling-instead-of-barrier",
    Severity.ERROR,
    advice="wait for the rank that writes by a barrier after the write",
)

_ASKS = frozenset({"exists", "isfile", "isdir", "is_file", "is_dir", "lexists", "glob"})
_BARRIERS = frozenset({"barrier", "monitored_barrier", "wait_for_everyone", "synchronize"})


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """`while not exists(path): sleep()` in a file that takes part in a process group, or on some ranks only."""
    half = {id(one.loop): one for one in polled_files.found(facts) if _polls(one.loop)}
    for one in half.values():
        message = (
            "a rank that waits here goes on as soon as the file exists, while another one still writes it: write it "
            "under another name and rename it, or use a barrier after it is written"
        )
        chain = (*one.sleeps.context.chain, one.sleeps.site)
        # of several machines few programs are ever started on, and the folder may not be one
        on_nodes = heuristics.SEVERAL_NODES.found_in_any(guard.text for guard in one.sleeps.context.guards)
        yield facts.finding(
            *(RULE, site_of(one.module, one.loop.test), message),
            related=((one.written.site, "written here"),),
            severity=Severity.HINT if on_nodes else Severity.WARNING,
            chain=chain,
        )
    for node in facts.module.of(ast.While):
        if id(node) in half or not _polls(node) or not (facts.distributed or _on_some_ranks(facts, node)):
            continue
        reason = _stuck(facts, node)
        if reason is not None:
            message = (
                f"rank {reason.waits} waits here for a file that rank {reason.writes} writes only after "
                f"{reason.op.op}, where it waits for rank {reason.waits}"
            )
            related = ((reason.op.site, f"{reason.op.op} comes first"), (reason.written, "the file is written here"))
            yield facts.finding(RULE, node.test, message, related=related)
        elif not _behind_barrier(facts, node):
            message = (
                "this waits for a file, which may be incomplete or left over from an earlier run: use a barrier after "
                "the rank that writes it"
            )
            yield facts.finding(RULE, node.test, message, severity=Severity.HINT)


def _on_some_ranks(facts: ModuleFacts, loop: ast.While) -> bool:
    """Whether it is the branch of some ranks, in a helper whose callers make the group."""
    end = loop.end_lineno or loop.lineno
    inside = (call for call in facts.named("time.sleep") if call.site.file == facts.module.path)
    return any(call.context.some_ranks_only and loop.lineno <= call.site.line <= end for call in inside)


def _stuck(facts: ModuleFacts, loop: ast.While) -> StuckPoll | None:
    """Why the file cannot appear, if that is proven."""
    end = loop.end_lineno or loop.lineno
    places = (s for s in sorted(facts.stuck) if s.file == facts.module.path and loop.lineno <= s.line <= end)
    return next((facts.stuck[s] for s in places), None)


def _polls(loop: ast.While) -> bool:
    """It checks for a file and sleeps, and does nothing else; no deadline ends it."""
    tested = _calls(loop.test) & _ASKS
    if isinstance(loop.test, ast.Constant):
        tested = {n for s in loop.body if isinstance(s, ast.If) for n in _calls(s.test) & _ASKS if _breaks(s)}
    if not tested or "sleep" not in {n for s in loop.body for n in _calls(s)}:
        return False
    deadline = any(isinstance(n, (ast.Raise, ast.Compare)) for n in walk(loop)) or not _words(loop).isdisjoint(
        heuristics.GIVES_UP_WAITING.words
    )
    return not deadline


def _breaks(statement: ast.If) -> bool:
    return any(isinstance(n, (ast.Break, ast.Return)) for n in walk(statement))


def _calls(node: ast.AST) -> set[str]:
    """Names of what is called in it."""
    return {last_name(n.func) for n in walk(node) if isinstance(n, ast.Call)}


def _words(node: ast.AST) -> set[str]:
    names = _calls(node) - {"sleep"}
    return names | names_in(node) - {"time", "os"}


def _behind_barrier(facts: ModuleFacts, loop: ast.While) -> bool:
    """A barrier precedes it in the same function: the wait is for the file system."""
    scope: ast.AST = loop
    while not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
        scope = facts.parents[scope]
    first = scope.lineno if not isinstance(scope, ast.Module) else 1
    met = (item for item in facts.reached if item.op.op != "init_process_group")
    if any(item.within(facts.module.path, first, loop.lineno - 1) is not None for item in met):
        return True
    before = (n for n in walk(scope) if getattr(n, "lineno", loop.lineno) < loop.lineno)
    return any(isinstance(n, ast.Attribute) and n.attr in _BARRIERS for n in before)
