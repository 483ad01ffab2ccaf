"""A schedule ends early: its length was counted for one process, or without the batches that are not full

## What it does
Finds a schedule of the learning rate that is given to Accelerate's `prepare`, and whose length is computed from the
number of batches of a loader that was prepared before, or from a length that was divided by the number of processes, or
is the number of updates after which the training loop ends. And a `OneCycleLR` that makes a step for each batch of a
loader with a `DistributedSampler`, neither of which drops anything, and whose length is
`epochs * (len(data) // (batch_size * world_size))`.

## Why it harms
A prepared schedule makes as many steps as there are processes whenever the optimizer makes one, since its length is
expected to be that of a job of one process. A prepared loader has the batches of one process alone. With eight
processes warm-up and decay are over after an eighth of the training; the rest of it runs at the last learning rate,
which is often 0. Nothing is reported. So it is where the schedule is told how many updates the training makes, and the
loop counts them up to there: `if step >= args.max_steps: break`.

A sampler repeats samples until all ranks have equally many, and a loader has a shorter batch at its end: an epoch has
one step more than that number, which is rounded down, and in the last epoch all ranks end with "Tried to step 46
times".

## Example
```python
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
schedule = CosineAnnealingLR(optimizer, T_max=epochs * len(loader))
schedule = accelerator.prepare(schedule)
```

## Use instead
```python
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
schedule = CosineAnnealingLR(optimizer, T_max=epochs * len(loader) * accelerator.num_processes)
schedule = accelerator.prepare(schedule)
```
or count the batches before the loader is prepared, and divide them by nothing. A given number of updates is multiplied
in the same way: `num_training_steps=args.max_steps * accelerator.num_processes`. The steps of `OneCycleLR` are
`epochs * len(loader)`.

## Fix safety
No automatic fix.

## When it is wrong
When the Accelerator is told to split batches, or not to step schedules with the optimizer, in code that lint does not
see. With `split_batches=True` or `step_scheduler_with_optimizer=False` nothing is reported; nor where the number of
updates is computed anew after the schedule was made. Where a constant schedule is what is chosen by default, it is a
hint: only its warm-up is too short. A length that is rounded down is right where the number of samples is a multiple of
the batches of all ranks.

## References
https://huggingface.co/docs/accelerate/concept_guides/performance#learning-rates
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import counted_updates, reckoned, rounded_schedules
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import frameworks, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Enclosing, Function, Items, Listed, Made
from ddpdoctor.lint.values.tags import Tag, union
from ddpdoctor.lint.values.values import WORLD_NUMBER, Value, is_of_all
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import text_of

RULE = LintRule(
    "DD138",
    "schedule-of-one-share",
    Severity.WARNING,
    advice="count len(loader) steps for each epoch: of a schedule that is prepared, those of all processes",
)

#: attributes that give the number of processes
_NUMBERS = frozenset(name for name, what in frameworks.RANKS.items() if what == "world")
#: functions and objects in one another that a schedule is made of
_DEPTH = 3


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Prepared schedules that are made of the length of what was prepared before them, or of a number of updates; and
    those whose length is rounded down."""
    yield from _rounded(facts)
    if not facts.mentions("prepare", "prepare_scheduler"):
        return
    for call in facts.methods("prepare", "prepare_scheduler"):
        condition = _condition(call)
        if condition is None:
            continue
        for made in map(_schedule, call.args):
            if made is None:
                continue
            if not any(_is_of_share(facts, value) for value in _given(made)):
                yield _of_updates(facts, made, call)
            else:
                said = (
                    "the schedule ends early: once it is prepared it makes a step for each process whenever the "
                    "optimizer makes one, and its length counts the batches of one process"
                )
                yield facts.finding(
                    *(RULE, _place(facts, made), Conditional(condition, said)),
                    related=((call.site, "prepared here"),),
                    context=call.context,
                )


def _rounded(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Schedules that end with an error in the last epoch."""
    for short in rounded_schedules.found(facts):
        said = (
            "the length of this schedule is rounded down, and sampler and loader round up: it has one step less for "
            "each epoch than the loop makes, and the step after its last one raises ValueError on all ranks"
        )
        yield facts.finding(
            *(RULE, short.made.site, Conditional(_UNLESS_DIVIDES, said)),
            related=((short.step.site, "a step for each batch"),),
            context=short.made.context,
        )


_UNLESS_DIVIDES = "unless the number of samples is a multiple of the batches of all ranks, "


def _of_updates(facts: ModuleFacts, made: Made, prepared: CallEvent) -> Finding | None:
    """A finding about a schedule that ends when the loop has made as many updates, were it one step for each."""
    event = next((c for c in facts.named(made.path) if c.site == made.site), None)
    found = counted_updates.limit(facts, event) if event is not None else None
    kind = made.args[0].constant if made.args else None
    if event is None or found is None or (isinstance(kind, str) and kind.startswith(_CONSTANT)):
        return None
    end, told = found
    said = (
        "the schedule ends early: once it is prepared it makes a step for each process whenever the optimizer makes "
        f"one, and the training ends after {text_of(told)} steps of the optimizer"
    )
    return facts.finding(
        *(RULE, facts.place(event), Conditional(_condition(prepared) or "", said)),
        related=((prepared.site, "prepared here"), (end, "the training ends here")),
        severity=Severity.HINT if _is_constant_by_default(facts) else None,
        context=prepared.context,
    )


#: how the names of schedules begin that stay where they are after the warm-up
_CONSTANT = "constant"


def _is_constant_by_default(facts: ModuleFacts) -> bool:
    """Whether an option of the program chooses a schedule that does not fall."""
    options = (n for n in facts.module.of(ast.Call) if last_name(n.func) == "add_argument")
    given = (k.value for n in options for k in n.keywords if k.arg == "default")
    return any(isinstance(v, ast.Constant) and str(v.value).startswith(_CONSTANT) for v in given)


def _condition(call: CallEvent) -> str | None:
    """What has to hold of the Accelerator whose method it is; None if it steps schedules one for one, or is none."""
    made = call.receiver.object if call.receiver is not None else None
    if not isinstance(made, Made) or frameworks.kind(made.path) != frameworks.ACCELERATOR:
        return None
    config = made.keyword(frameworks.LOADER_CONFIG)
    given = config.object if config is not None else None
    if config is not None and not isinstance(given, Made):
        return None
    for one in (made, given):
        for name, chosen in frameworks.ONE_STEP_EACH.items():
            value = one.keyword(name) if isinstance(one, Made) else None
            if value is not None and (not value.known or value.constant is chosen):
                return None
    seen = made.site.file and not made.opaque
    return "" if seen else "unless the Accelerator splits batches, "


def _schedule(value: Value) -> Made | None:
    made = value.object
    return made if isinstance(made, Made) and frameworks.is_schedule(made.path) else None


def _is_of_share(facts: ModuleFacts, value: Value) -> bool:
    """Whether what a schedule is given is one rank's number of batches, which nothing multiplies by the number of
    ranks."""
    parts = list(_within(value))
    if not union(part.tags for part in parts) & Tag.OF_SHARE or any(map(is_of_all, parts)):
        return False
    return not any(heuristics.COUNTS_PROCESSES.found_in_any(reckoned.names(facts, part)) for part in parts)


def _given(made: Made) -> tuple[Value, ...]:
    return (*made.args, *(value for _, value in made.keywords))


def _within(value: Value, depth: int = 0) -> Iterator[Value]:
    yield value
    for part in _parts(value) if depth < _DEPTH else ():
        yield from _within(part, depth + 1)


def _parts(value: Value) -> Iterator[Value]:
    """What a function or an object that a schedule is given is made of."""
    obj = value.object
    if isinstance(obj, Items):
        yield from obj.items
    elif isinstance(obj, Listed) and obj.element is not None:
        yield obj.element
    elif isinstance(obj, Made) and (obj.path == "functools.partial" or frameworks.is_schedule(obj.path)):
        yield from _given(obj)
    elif isinstance(obj, Function):
        yield from _enclosed(obj)


def _enclosed(function: Function) -> Iterator[Value]:
    """The variables of the functions around one that it reads."""
    around: Enclosing | None = function.closure
    left = function.info.reads - set(function.info.signature.bound)
    if any(isinstance(node, ast.Attribute) and node.attr in _NUMBERS for node in walk(function.info.node)):
        yield WORLD_NUMBER
    while around is not None:
        yield from (around.env[name] for name in left & around.env.keys())
        left = left - around.env.keys()
        around = around.closure


def _place(facts: ModuleFacts, made: Made) -> SourceSite:
    """Where this file has a schedule made."""
    call = next((c for c in facts.named(made.path) if c.site == made.site), None)
    return facts.place(call) if call is not None else made.site
