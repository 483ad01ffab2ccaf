"""Every rank draws the same random numbers

## What it does
Finds data-parallel training in which all ranks use the same constant seed, or the same command-line option, while
augmentation or noise is drawn from those generators and no seed depends on the rank. Separate generators, for noise or
for a `DataLoader` with workers, count as well. The model may be wrapped by DDP, FSDP, Accelerate or Fabric, Lightning
may train it by a strategy for several ranks, or the program may average gradients itself; the seed may be set by
`transformers.set_seed`, Accelerate's `set_seed` without `device_specific=True` or Lightning's `seed_everything`. Where
a seed by rank is surely followed by an equal one, it is undone and does not count. One of numpy's generator alone does
not part what is drawn from torch's. Nor does a `worker_init_fn` part the ranks that seeds nothing, or that seeds with
what torch gives the worker.

It also finds ranks that collect the same rollouts: their environments and their actions have the same seeds. And it
finds programs that learn nothing, and whose ranks make samples together, of nothing but noise (and random labels): a
network that has learnt is asked in a loop, and what it makes is gathered, or each rank writes it under names of its
own.

## Why it harms
DataLoader workers are seeded from the main process's generator (torch 1.9 and later), so with equal seeds the k-th
sample of every rank gets the *same* crop, flip and noise. The run trains on a fraction of the intended variety, and
nothing shows it. Of the samples that eight ranks make, each is there eight times.

## Example
```python
torch.manual_seed(42)
dist.init_process_group("nccl")
noise = torch.randn(batch.shape)
```

## Use instead
One seed for what must be equal (initial weights, the sampler), another by rank for what should differ.
```python
torch.manual_seed(42)
model = DDP(Net())
torch.manual_seed(42 + dist.get_rank())
noise = torch.randn(batch.shape)
```

## Fix safety
No automatic fix: adding the rank also changes the initial weights. DDP makes these equal again; hand-written averaging
does not.

## When it is wrong
When equal randomness is intended, for example masks that must match across ranks. A seed from settings that a function
is given, or that are read from a file, is a hint, unless no file of the project adds anything to a seed. Equal seeds
without any visible random augmentation or noise are not reported; nor is a single number that is drawn in the training
loop, since it decides what all ranks do in this step, as a rule, nor what is drawn for all ranks, of which each takes
its own (`rows[rank]`). A seed that the user may leave out is a hint, unless it is a number by default, or the scripts
or settings of the repository give one. Of a program that learns nothing, nothing is said where each rank has a share of
something, such as prompts, or may have one: then equal noise makes different samples. It is a hint, too, where all that
is drawn is for other data than the repository's commands and settings choose where they start several ranks.

It is a hint where the workers part by themselves, because the samples decide how much is drawn: `RandomResizedCrop`
draws again until a crop fits the picture, `random.randint(0, len(clip))` until the number is in its range, and words
are masked one by one; so one rank soon draws more than another. It is also a hint where the program trains for one
epoch, or a few batches of each, by its own words: every sample is distorted once anyway, or nothing is learnt.

## References
https://docs.pytorch.org/docs/stable/notes/randomness.html#dataloader
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ddpdoctor.lint.facts import equal_draws, equal_rollouts, equal_samples, launch, seeds
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed, shown_also
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.knowledge.randomness import Generator
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.program.sites import SourceSite

RULE = LintRule(
    "DD131",
    "identical-rng-all-ranks",
    Severity.WARNING,
    advice="seed by rank after the model is made: torch.manual_seed(seed + rank)",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Equal seeds in a data-parallel script with random augmentation or noise."""
    if seeds.parted_by_framework(facts) or launch.tested_alone(facts):
        return
    if not facts.mentions(*_LEARNS):
        yield from _global(facts, equal_samples.sampled, _SAME_SAMPLES)
        yield from _own(facts, equal_samples.own_noise(facts), "the noise is drawn here")
    elif seeds.data_parallel(facts):
        yield from _global(facts, equal_draws.equal_draws, _ALIKE)
        yield from _generators(facts)
        yield from _rollouts(facts)


#: what is drawn from some generators in a program
Drawn = Callable[[ModuleFacts, frozenset[Generator]], Iterable[equal_draws.EqualDraw]]


def _global(facts: ModuleFacts, drawn: Drawn, alike: str) -> Iterator[Finding | None]:
    """Global generators, seeded alike and never by rank."""
    # what one rank seeds for its samples says nothing of the others
    seedings = [call for call in seeds.seedings(facts) if not call.context.some_ranks_only]
    given = [call for call in seedings if seeds.undone_by(call, seedings) is None]
    if not given or seeds.seeds_elsewhere(facts):
        return
    draws = _equal_draws(facts, given, drawn)
    if not draws:
        return
    lasting = equal_draws.lasting(facts, draws)
    draw = (lasting or draws)[0]
    because = equal_draws.seeding(given, draw) or given
    place = min(facts.place(call) for call in because)
    condition = _UNTIL_SAMPLES if not lasting else _condition(facts, because)
    # whoever passes the settings may have added the rank, and whoever starts the program may ask for a seed
    asked = condition == _IF_ASKED
    unsure = not _all_constant(facts, because) and condition in ("", _IF_ASKED)
    role = RelatedRole.UNCONFIRMED if unsure else RelatedRole.UNSTARTED
    open_ = Unconfirmed(place, role) if unsure or asked else None
    severity = Severity.HINT if condition or open_ else Severity.WARNING
    related: tuple[tuple[SourceSite, str], ...] = ((draw.site, "random numbers are drawn here"),)
    undone = next((call for call in seedings if call not in given and seeds.differs_by_rank(call)), None)
    if undone is not None:
        related += ((undone.site, "this seed by rank is undone"),)
    message = Conditional(condition, alike) if condition else alike
    told = facts.finding(RULE, place, message, related=related, severity=severity, unconfirmed=open_)
    yield shown_also(told, (one.site for one in lasting or draws))


def _rollouts(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Rollouts that all ranks collect for themselves, and that are the same."""
    if not facts.mentions("reset") or seeds.seeds_elsewhere(facts):
        return
    given = equal_rollouts.seeding(facts)
    rollout = equal_rollouts.found(facts) if given else None
    if rollout is not None:
        related = (
            (rollout.environment.site, "the environments get their seed here"),
            (rollout.action.site, "the actions are drawn here"),
        )
        yield facts.finding(
            *(RULE, min(facts.place(call) for call in given), _SAME_ROLLOUTS), related=related,
            severity=Severity.WARNING,
        )  # fmt: skip


#: who trains computes gradients, or has an optimizer or a trainer
_LEARNS = ("backward", "fit", "zero_grad", "optimizer")

_ALIKE = (
    "every rank uses this seed, so all ranks draw the same augmentation or noise: "
    "seed again with `+ rank` after creating the model"
)
_SAME_SAMPLES = (
    "every rank uses this seed and draws the same noise, so all ranks make the same samples: seed with `+ rank`"
)
_SAME_ROLLOUTS = (
    "every rank seeds its actions and its environments alike, so all ranks collect the same rollouts: seed both with "
    "`+ rank` after creating the model"
)
_IF_ASKED = "where a seed is asked for, to which nobody adds the rank, "
_UNTIL_SAMPLES = "until samples for which more has to be drawn make a difference: "


def _equal_draws(facts: ModuleFacts, given: list[CallEvent], drawn: Drawn) -> list[equal_draws.EqualDraw]:
    """What is drawn from generators that every one of the calls seeds with a constant, an option or a setting."""
    alike = {id(call) for call in given if seeds.constant(facts, call) or seeds.configured(facts, call)}
    parted = seeds.seeded(filter(seeds.differs_by_rank, given))
    apart = seeds.parts_workers(given)
    return [
        draw
        for draw in drawn(facts, seeds.seeded(given))
        if not (apart and draw.by_worker)
        and parted.isdisjoint(equal_draws.sources(draw))
        and equal_draws.together(given, draw)
        and all(id(call) in alike for call in equal_draws.seeding(given, draw) or given)
    ]


def _condition(facts: ModuleFacts, because: list[CallEvent]) -> str:
    """What has to hold besides, as the beginning of a message; "" if nothing has."""
    if equal_draws.trains_briefly(facts):
        return "in the one epoch, or the few batches, that there are: "
    return _IF_ASKED if any(seeds.asked_for(facts, call) for call in because) else ""


def _all_constant(facts: ModuleFacts, because: list[CallEvent]) -> bool:
    return all(seeds.constant(facts, call) for call in because)


def _generators(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Generators of their own: for noise, or for a loader, whose workers are seeded from it."""
    uses: list[tuple[Made, SourceSite, str]] = []
    noise = (drawn for drawn in equal_draws.noise(facts) if not drawn[0].context.some_ranks_only)
    uses += [(made, call.site, "the noise is drawn here") for call, made in noise]
    draw = equal_draws.dataset_draw(facts)
    for call in facts.named(aliases.LOADER) if draw is not None else ():
        given, workers = call.keyword("generator"), call.argument(5, "num_workers")
        own = call.keyword("worker_init_fn")
        works = workers is not None and workers.known and workers.constant and (own is None or seeds.hands_on(own))
        if given is not None and isinstance(given.object, Made) and given.object.path == "torch.Generator" and works:
            uses.append((given.object, call.site, "this loader seeds its workers with it"))
    yield from _alike(facts, uses)


def _own(facts: ModuleFacts, draws: list[tuple[CallEvent, Made]], what: str) -> Iterator[Finding | None]:
    yield from _alike(facts, [(made, call.site, what) for call, made in draws])


def _alike(facts: ModuleFacts, uses: list[tuple[Made, SourceSite, str]]) -> Iterator[Finding | None]:
    """Uses of generators that every rank seeds alike."""
    for made, site, what in uses:
        given_seeds = equal_draws.seedings_of(facts, made)
        if all(seeds.constant(facts, call) for call in given_seeds):
            place = facts.place(given_seeds[0]) if given_seeds else made.site
            message = "every rank draws the same numbers from this generator: seed it with `+ rank`"
            yield facts.finding(RULE, place, message, related=((site, what),))
