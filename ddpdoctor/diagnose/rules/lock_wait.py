"""# DD238 lock-wait

## What
A rank waits for a lock file that nobody lets go: a build of a kernel, a download, or a cache that was being filled.

## Why it hangs
A process that was killed leaves its lock file behind, and whoever comes next polls for its end for ever. Other ranks
that need no lock go on to a collective.

## Example
    torch.utils.cpp_extension.load(...)      # ~/.cache/torch_extensions/*/lock is left from a run that was killed

## Fix
Make sure that nobody builds, then remove the lock file (`rm -rf ~/.cache/torch_extensions/*/lock`). Build on one rank
before the job, or into a folder that each job has to itself.

## When it is wrong
The owner of the lock may be alive and busy on another machine that shares the folder: then this is slow and no hang.

## References
https://github.com/pytorch/pytorch/issues/189245 https://github.com/PASSIONLab/OpenEquivariance/issues/207
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.asleep import Sleep, sleep_of
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.rule import Rule
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import Source
from ddpdoctor.model.ranks import Rank, RankSet

RULE = Rule(
    code="DD238",
    name="lock-wait",
    requires=frozenset({Source.STACKS}),
    excludes=("DD231", "DD233", "DD235"),
    fixture="lock-wait",
    specificity=62,
)

#: what waits for lock files: torch's builds, and the libraries that hubs, caches and compilers use
_LOCKS = ("/torch/utils/file_baton.py", "/filelock/", "/portalocker/", "/fasteners/", "/lockfile/", "/zc/lockfile/")


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    sleeps = {rank: sleep for rank in facts.blockers if (sleep := sleep_of(facts, rank)) and _locks(sleep)}
    if sleeps:
        yield _diagnosis(facts, sleeps)


def _locks(sleep: Sleep) -> bool:
    """`fcntl` waits only for a lock of a file, `flock` is one."""
    return sleep.within(*_LOCKS) or (sleep.calls("flock", "fcntl") and sleep.target is not None)


def _diagnosis(facts: Facts, sleeps: dict[Rank, Sleep]) -> Diagnosis:
    held = RankSet.of(sleeps)
    waiting = facts.waiting - held
    site = sleeps[held.members[0]].site
    # all ranks in the same wait: the fault is with the lock's owner, who is none of them
    culprits = held if waiting else RankSet()
    files = sorted({sleep.target.target for sleep in sleeps.values() if sleep.target and sleep.target.kind == "file"})
    named = f" {', '.join(files)}" if files else ""
    rest = wording.held_up(facts, waiting, wording.verb(held, "it", "them"))
    return Diagnosis(
        RULE.code,
        RULE.name,
        Confidence.LIKELY,
        Confidence.LIKELY,
        culprits,
        waiting,
        f"{wording.ranks(held)} {wording.verb(held, 'waits', 'wait')} for the lock file{named} at "
        f"{wording.place(site)}",
        f"{_owner(facts, held, files)}{rest}",
        _advice(_openers(facts, held, files), named),
        (facts.location(held, site), *facts.standing_locations(waiting)),
        tuple(_evidence(rank, sleep) for rank, sleep in sleeps.items()),
    )


def _openers(facts: Facts, held: RankSet, files: list[str]) -> RankSet:
    """Ranks that have the file open and do not wait for it: one of them may be the lock's owner."""
    return RankSet.of(
        seen.rank
        for seen in facts.evidence.ranks
        if seen.rank is not None and seen.rank not in held
        if any(descriptor.target in files for descriptor in (seen.process.descriptors if seen.process else ()))
    )


def _owner(facts: Facts, held: RankSet, files: list[str]) -> str:
    openers = _openers(facts, held, files)
    if openers:
        who = wording.ranks(openers).capitalize()
        return f"{who} {wording.verb(openers, 'has', 'have')} the file open, too, and may hold the lock."
    if files:
        return "No other rank that was looked at has the file open; a process that was killed may have left it behind."
    return "Who holds the lock is not known; a process that was killed may have left it behind."


def _advice(openers: RankSet, named: str) -> str:
    if openers:
        return f"Give the lock back before the next collective; do not remove{named} while a rank may hold it."
    return f"Make sure that nobody is at work under the lock{named}, then remove it; build before the job starts."


def _evidence(rank: Rank, sleep: Sleep) -> str:
    where = (
        f"{sleep.inside[-1].file.rpartition('/')[2]}, {sleep.inside[-1].function}" if sleep.inside else "its own line"
    )
    asked = f", system call {sleep.call} on {sleep.target.target}" if sleep.call and sleep.target else ""
    return f"rank {rank} is in {where}{asked}"
