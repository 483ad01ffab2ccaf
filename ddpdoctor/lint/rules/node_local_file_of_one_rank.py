"""Only the first machine gets a file that every machine needs

## What it does
Finds a path on a disk that each machine has for itself (`/tmp`, `/dev/shm`, what `TMPDIR`, `SLURM_TMPDIR` or
`tempfile.gettempdir()` name) that `rank == 0` alone writes, copies, downloads or creates, and that all ranks then read.
It is a hint, which begins with the condition, unless the file is told of nodes (`--nnodes`, `node_rank`, Slurm's
variables) or a script or text of the repository starts it on several; and where only a default or a name (`scratch`)
says that the folder is one of the machine's own.

## Why it harms
Rank 0 is a process of the first machine. On every other one nobody has written the file: all its ranks pass the
barrier, and fail with FileNotFoundError, or read what an earlier job has left there. On one machine it works.

## Example
```python
path = os.path.join(os.environ["SLURM_TMPDIR"], "train.bin")
if dist.get_rank() == 0:
    shutil.copyfile("/project/train.bin", path)
dist.barrier()
data = np.memmap(open(path, "rb"))
```

## Use instead
```python
path = os.path.join(os.environ["SLURM_TMPDIR"], "train.bin")
if int(os.environ["LOCAL_RANK"]) == 0:
    shutil.copyfile("/project/train.bin", path)
dist.barrier()
data = np.memmap(open(path, "rb"))
```

## Fix safety
No automatic fix.

## When it is wrong
When all machines of the job see the same folder. Nothing is reported of scripts for one machine, of ranks that a
program spawns and that nothing tells of nodes, where a condition speaks of nodes or of the local rank, where another
rank of each machine makes the path as well, or where those who read it ask first whether it is there.

## References
https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import launch, node_local_files
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.facts.node_local_files import Local, MissingElsewhere
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, RelatedRole, Severity

RULE = LintRule(
    "DD192",
    "node-local-file-of-one-rank",
    Severity.WARNING,
    advice="let one rank of each machine make it: local_rank == 0",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """What the first rank makes on its machine, and those of the others miss."""
    if launch.one_node_only(facts) or heuristics.OF_TESTS.found_in(facts.module.path):
        return
    found = list(node_local_files.found(facts))
    several = bool(found) and launch.told_of_nodes(facts)
    for missing in found:
        # who spawns ranks does it for one machine, unless something tells of others
        if several or not launch.is_spawned(facts, missing.writer):
            yield _found(facts, missing, several=several)


_MESSAGE = (
    "only the first rank of the job makes this, on the disk of its machine, and ranks of other machines do not find "
    "it: let one rank of each machine make it"
)


def _found(facts: ModuleFacts, missing: MissingElsewhere, *, several: bool) -> Finding | None:
    place = facts.place(missing.writer)
    said = missing.local is Local.SAID
    condition = "" if several else "where there are several nodes, "
    if not said:
        condition = "where this folder is one of each node's own, "
    sure = several and said
    return facts.finding(
        *(RULE, place, Conditional(condition, _MESSAGE)),
        related=((missing.guard.site, "the condition"), (missing.reader.site, "all ranks read it here")),
        severity=None if sure else Severity.HINT,
        context=missing.writer.context,
        unconfirmed=Unconfirmed(place, RelatedRole.UNCONFIRMED) if said and not several else None,
    )
