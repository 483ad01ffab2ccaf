"""A training script without a seed

## What it does
Finds a script that creates a process group and trains, and that neither seeds a generator nor calls a framework's seed
function in any of the files that it uses. It is a warning where the program shows that it needs one: it has an option
for a seed, with a default, that nothing reads, or each rank draws what an object keeps that is neither a model nor a
data set. Else it is a hint: a demonstration or a measurement need not be repeated. It is a hint, too, where a script
seeds itself and then spawns the ranks, none of which is seeded: spawned processes inherit no generator.

## Why it harms
No run can be repeated, and neither can a hang or a bad loss. Values on which ranks should agree (a random split, a
projection, the initial weights without DDP) differ by accident.

## Example
```python
dist.init_process_group("nccl")
model = DDP(Net())
for batch in loader:
    model(batch).sum().backward()
```

## Use instead
```python
torch.manual_seed(args.seed)
dist.init_process_group("nccl")
model = DDP(Net())
torch.manual_seed(args.seed + dist.get_rank())
```

## Fix safety
No automatic fix.

## When it is wrong
When the seed is set in a package that could not be read, or by the launcher.

## References
https://docs.pytorch.org/docs/stable/notes/randomness.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import equal_draws, seeds
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.options import declared_by
from ddpdoctor.program.sites import SourceSite

RULE = LintRule(
    "DD136",
    "unseeded-ranks",
    Severity.WARNING,
    advice="seed all ranks: torch.manual_seed(seed), and by rank what should differ",
)

_GROUP = "torch.distributed.init_process_group"


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Scripts that create a group and train without any seed in reach, or with one that no rank gets."""
    yield from _left(facts)
    groups = [c for c in facts.named(_GROUP) if c.context.from_script]
    if not groups or seeds.mentioned(facts) or seeds.by_framework(facts) or not seeds.trains(facts):
        return
    message = "this script trains on several ranks and sets no seed: no run can be repeated"
    because = _because(facts)
    severity = None if because else Severity.HINT
    yield facts.finding(RULE, facts.place(groups[0]), message, related=because, severity=severity)


def _left(facts: ModuleFacts) -> Iterator[Finding | None]:
    """A seed for the process that spawns the ranks, and for none of them."""
    if seeds.by_framework(facts) or not seeds.data_parallel(facts) or not seeds.trains(facts):
        return
    left = seeds.left_in_parent(facts)
    if left:
        message = "only the process that spawns the ranks is seeded, which inherit nothing of it: seed in each of them"
        yield facts.finding(RULE, min(facts.place(call) for call in left), message, severity=Severity.HINT)


def _because(facts: ModuleFacts) -> tuple[tuple[SourceSite, str], ...]:
    """A place that shows that the program needs a seed."""
    option = next((c for c in facts.methods("add_argument") if _is_seed(c) and _is_set(c)), None)
    if option is not None:
        return ((option.site, "nothing reads this seed"),)
    kept = equal_draws.kept_draw(facts)
    return ((kept, "each rank draws its own here, and keeps it"),) if kept is not None else ()


def _is_seed(call: CallEvent) -> bool:
    option = declared_by(call.node)
    return option is not None and not option.names.isdisjoint(_OPTIONS)


def _is_set(call: CallEvent) -> bool:
    """Whether the option has a value where nobody gives it: else a run without a seed is meant."""
    default = call.keyword("default")
    return default is not None and default.constant is not None


#: as options for a seed are called
_OPTIONS = ("seed", "random_seed", "manual_seed")
