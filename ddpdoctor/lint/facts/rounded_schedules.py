"""Schedules that end with an error after so many steps, whose length is rounded down where the training rounds up.

`len(data) // (batch * ranks)` counts the full batches of all ranks. A sampler repeats samples until all ranks have
equally many, and a loader has a shorter batch at its end: where neither drops anything, an epoch has one step more, for
ceil(ceil(n / w) / b) = ceil(n / (b * w)) > floor(n / (b * w)) wherever b * w does not divide n.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from ddpdoctor.lint.facts import loaders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, EnclosingLoop
from ddpdoctor.lint.values import symbols
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import WORLD, Symbol, Value
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.nodes import walk

#: raises ValueError in the step after its last one (torch 2.13); other schedules go on
ONE_CYCLE = "torch.optim.lr_scheduler.OneCycleLR"

_Structures = Mapping[int, tuple[object, ...]]
#: operations in one another that are looked into
_DEPTH = 4


class Short(NamedTuple):
    """A schedule, the step in each turn of the loop, and that loop."""

    made: CallEvent
    step: CallEvent
    loop: EnclosingLoop


def found(facts: ModuleFacts) -> Iterator[Short]:
    """Each schedule that has fewer steps than the loops in which it makes one in each turn."""
    made = {call.site: call for call in facts.named(ONE_CYCLE)}
    if not made:
        return
    for step in facts.methods("step"):
        schedule = step.receiver.object if step.receiver is not None else None
        call = made.get(schedule.site) if isinstance(schedule, Made) and schedule.path == ONE_CYCLE else None
        loop = _loop_of(facts, step)
        if call is not None and loop is not None and _is_short(call, step, loop):
            del made[call.site]
            yield Short(call, step, loop)


def _loop_of(facts: ModuleFacts, step: CallEvent) -> EnclosingLoop | None:
    """The loop of whose turns each makes this step."""
    statement = facts.parents.get(step.node)
    loop = step.context.loops[-1] if len(step.context.loops) == 2 else None
    body = getattr(loop.node, "body", ()) if loop is not None else ()
    skips = any(isinstance(n, (ast.Continue, ast.Break)) for s in body for n in walk(s))
    return loop if statement in body and not skips else None


def _is_short(made: CallEvent, step: CallEvent, loop: EnclosingLoop) -> bool:
    loader, sampler = loaders.loader_of(loop.over), loaders.sampler_of(loop.over)
    if loader is None or sampler is None or loaders.drops_last(loader, 8) is not False:
        return False
    data, batch = sampler.argument(0, "dataset"), loader.argument(1, "batch_size")
    ranks = sampler.argument(1, "num_replicas")
    if loaders.drops_last(sampler, 5) is not False or data is None or batch is None:
        return False
    if ranks is not None and ranks.constant not in (None, WORLD):
        return False
    count = _turns_of(step.context.loops[0])
    return count is not None and any(_rounds_down(steps, data, batch) for steps in _of_epoch(made, count))


def _turns_of(loop: EnclosingLoop) -> Value | None:
    """The number of turns of `for epoch in range(epochs)`."""
    made = loop.over.object if loop.over is not None else None
    plain = isinstance(made, Made) and made.path == "builtins.range" and len(made.args) == 1
    return made.args[0] if plain and isinstance(made, Made) else None


def _of_epoch(made: CallEvent, epochs: Value) -> Iterator[object]:
    """What the length of a schedule has for the steps of one of so many epochs."""
    total, each = made.argument(2, "total_steps"), made.argument(4, "steps_per_epoch")
    counted = made.argument(3, "epochs")
    if each is not None and each.tags & Tag.WORLD and counted is not None and counted.atoms == epochs.atoms:
        yield each.atoms[0]
    if total is not None and total.tags & Tag.WORLD:
        structures = symbols.structures()
        parts = _operands(structures, total.atoms[0], "Mult")
        if len(parts) == 2 and epochs.atoms[0] in parts:
            yield from (part for part in parts if part != epochs.atoms[0])


def _rounds_down(steps: object, data: Value, batch: Value) -> bool:
    """Whether a number is that of the samples, divided by the batch of all ranks and rounded down."""
    structures = symbols.structures()
    divisors: list[object] = []
    head: object = steps
    while len(parts := _operands(structures, head, "FloorDiv")) == 2 and len(divisors) < _DEPTH:
        head = parts[0]
        divisors.append(parts[1])
    counted = structures.get(head.key, ()) if isinstance(head, Symbol) else ()
    if counted != ("len", data.atoms) or not divisors:
        return False
    return _factors(structures, divisors) == _factors(structures, [batch.atoms[0], WORLD])


def _factors(structures: _Structures, numbers: list[object]) -> tuple[int, list[int]]:
    """The product of the known factors of a product, and the unknown ones."""
    known, unknown, waiting = 1, list[int](), list(numbers)
    while waiting:
        one = waiting.pop()
        parts = _operands(structures, one, "Mult")
        if len(parts) == 2:
            waiting += parts
        elif isinstance(one, Symbol):
            unknown.append(one.key)
        elif isinstance(one, int):
            known *= one
    return known, sorted(unknown)


def _operands(structures: _Structures, number: object, operation: str) -> list[object]:
    """The two sides of an operation that an unknown is the result of, none if it is that of another."""
    structure = structures.get(number.key, ()) if isinstance(number, Symbol) else ()
    if len(structure) != 3 or structure[0] != operation:
        return []
    return [side[-1] for side in structure[1:] if isinstance(side, tuple) and side]
