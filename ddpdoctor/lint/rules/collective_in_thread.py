"""A collective in a background thread, while the main thread runs others

## What it does
Finds functions that are run by `threading.Thread`, a `ThreadPoolExecutor` or `asyncio.to_thread` and enter a collective
of the job's own group, where the main thread enters collectives of that group as well before it waits for the thread:
a writer of checkpoints that ends with a barrier, a logger that reduces what it logs.

## Why it hangs
The collectives of a group are matched by their order alone. When a thread comes to its collective depends on its disk
and its processor, so that on one rank it comes before a collective of the main thread and on another one after it. The
ranks then wait in different collectives, or mix up their data.

## Example
```python
def write(state, path):
    torch.save(state, path)
    dist.barrier()


threading.Thread(target=write, args=(state, path)).start()
loss.backward()
```

## Use instead
```python
writers = dist.new_group(backend="gloo")


def write(state, path):
    torch.save(state, path)
    dist.barrier(group=writers)


threading.Thread(target=write, args=(state, path)).start()
loss.backward()
```
Or join the thread before the next collective, or use `torch.distributed.checkpoint.async_save`, which does this.

## Fix safety
No automatic fix: the group has to be made on all ranks, once.

## When it is wrong
When something that lint cannot see makes the main thread wait. A thread that the main thread joins before it enters its
next collective is not reported, nor one whose collective names a group.

## References
https://docs.pytorch.org/docs/stable/distributed.html#groups
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import threads
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD122",
    "collective-in-thread",
    Severity.WARNING,
    advice="make a group for the thread's collectives, or join it before the next collective",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Collectives of two threads in one group."""
    told = set()
    for found in threads.in_background(facts):
        if found.site in told or facts.alone:
            continue
        told.add(found.site)
        other = found.meanwhile
        message = (
            f"a thread runs this {found.op} while the main thread runs collectives of the same group, and their order "
            "differs between ranks: give the thread a group of its own, or join it first"
        )
        related = (
            (found.start.site, "the thread is made here"),
            (other.site, f"the main thread comes to {other.method or other.path.rpartition('.')[2]} meanwhile"),
        )
        yield facts.finding(RULE, found.site, message, related=related, context=found.start.context)
