"""# DD241 interactive-prompt

## What
A rank waits for user input: in a debugger (`breakpoint()`, pdb, debugpy) or in `input()`.

## Why it hangs
The other ranks wait in a collective for a rank that waits for its keyboard. Launchers show no prompt, or only that of
one rank, so the user does not see the question.

## Example
    if loss > 1e4:
        breakpoint()

## Fix
Remove the call, or use `torch.distributed.breakpoint(rank)`, which holds the other ranks meanwhile.

## When it is wrong
The rank would continue after an answer, so this is not a proven deadlock and is at most `likely`.

## References
https://github.com/pytorch/torchtitan/issues/652 https://github.com/pytorch/pytorch/issues/154563
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import INTERACTIVE_PROMPT
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.program import enclosing

#: function names of modules that read a user's commands
_PROMPTS = {
    "pdb.py": frozenset({"interaction", "_cmdloop", "cmdloop"}),
    "cmd.py": frozenset({"cmdloop"}),
    "code.py": frozenset({"interact", "raw_input"}),
    "getpass.py": frozenset({"unix_getpass", "fallback_getpass", "_raw_input"}),
    "api.py": frozenset({"wait_for_client"}),
    "public_api.py": frozenset({"wait_for_client"}),
}
_ASKING = frozenset({"input", "breakpoint"})


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    idle = facts.doing(Activity.STILL, Activity.WAITING, Activity.UNKNOWN, Activity.STOPPED)
    asked = {rank: what for rank in idle if (what := _prompt(facts, rank))}
    if asked:
        yield _diagnosis(facts, RankSet.of(asked), next(iter(asked.values())))


def _prompt(facts: Facts, rank: Rank) -> str:
    """What asks the user for input, "" if nothing does."""
    seen = facts.evidence.rank(rank)
    main = frames.main_thread(seen) if seen else None
    if seen is None or main is None or not main.frames:
        return ""
    for frame in main.frames:
        name = PurePath(frame.file).name
        if frame.function.rpartition(".")[2] in _PROMPTS.get(name, ()) and facts.is_library(frame.file):
            return "a debugger" if name != "getpass.py" else "a password prompt"
    top = main.frames[0]
    found = enclosing.builtins_called(facts.program, top, _ASKING) if not facts.is_library(top.file) else []
    still = facts.state(rank).activity in (Activity.STILL, Activity.UNKNOWN)
    return f"{found[0]}()" if found and still else ""


def _diagnosis(facts: Facts, asked: RankSet, what: str) -> Diagnosis:
    who = wording.ranks(asked)
    waiting = facts.waiting - asked
    place = wording.place(facts.state(asked.members[0]).site)
    return diagnosis(
        INTERACTIVE_PROMPT,
        waiting,
        confidence=Confidence.LIKELY,
        culprits=asked,
        summary=f"{who} {wording.verb(asked, 'waits', 'wait')} for user input: {what} at {place}",
        why=(
            f"{who.capitalize()} {wording.verb(asked, 'is', 'are')} in {what} and would continue after an answer. "
            f"{wording.ranks(waiting).capitalize()} {wording.verb(waiting, 'waits', 'wait')} meanwhile in "
            f"{wording.waiting(facts, waiting)}."
            if waiting
            else f"{who.capitalize()} {wording.verb(asked, 'is', 'are')} in {what}."
        ),
        fix=(
            "Remove the call; to inspect a running job press Ctrl-\\ under `ddpdoctor watch`, or use "
            "torch.distributed.breakpoint(rank)."
        ),
        locations=(*facts.locations_of(asked), *facts.locations_of(waiting)),
        evidence=tuple(f"rank {rank}: {facts.state(rank).label}" for rank in asked),
    )
