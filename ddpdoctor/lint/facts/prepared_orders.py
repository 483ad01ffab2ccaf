"""Samplers of a program's own in loaders that Accelerate or Fabric divides by position, and what draws their order."""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import random_draws, seeds
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.facts.random_draws import Draw
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases, frameworks, randomness
from ddpdoctor.lint.values.abstract_objects import Instance, Made
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.modules import ClassInfo


class PreparedOrder(NamedTuple):
    """A loader whose sampler draws an order, and the call by which each process is left its share of that order."""

    loader: CallEvent
    sampler: ClassInfo
    draw: Draw
    prepared: CallEvent
    #: the last call that seeds what is drawn from, before it is; None if there is none
    seeded: CallEvent | None


def found(facts: ModuleFacts) -> Iterator[PreparedOrder]:
    """All of which every process draws the order for itself."""
    preparing = [call for call in facts.methods(*METHODS) if _divides(call)]
    for loader in facts.named(aliases.LOADER) if preparing else ():
        prepared = next((call for call in preparing if any(_is_made_by(v, loader) for v in call.args)), None)
        sampler = _sampler(loader, prepared) if prepared is not None else None
        draw = random_draws.order_of(facts.analysis, sampler) if sampler is not None else None
        if prepared is not None and sampler is not None and draw is not None:
            yield PreparedOrder(loader, sampler, draw, prepared, _last_seeding(facts, loader, draw))


METHODS = sorted({method for _, method in frameworks.PREPARING})


def prepares(call: CallEvent) -> bool:
    """Whether Accelerate or Fabric gives each rank its share of the loaders in the call."""
    return (seeds.kind_of(call), call.method) in frameworks.PREPARING


def divides(facts: ModuleFacts, loader: CallEvent) -> CallEvent | None:
    """The call by which Accelerate or Fabric leaves each process its share of a loader by position."""
    preparing = (call for call in facts.methods(*METHODS) if _divides(call))
    return next((call for call in preparing if any(_is_made_by(v, loader) for v in call.args)), None)


def _divides(call: CallEvent) -> bool:
    """Whether each process goes through the whole order and keeps its share: none that one process reads and sends to
    the others, or that is drawn by generators which are made equal before."""
    owner = call.receiver.object if call.receiver is not None else None
    if not prepares(call) or not isinstance(owner, Made) or owner.opaque:
        return False
    own = call.keyword("use_distributed_sampler")
    if own is not None and own.constant is not True:
        return False
    config = owner.keyword("dataloader_config")
    options = config.object if config is not None else owner
    if not isinstance(options, Made) or options.opaque:
        return False
    sends = options.keyword("dispatch_batches")
    return owner.keyword("rng_types") is None and (sends is None or sends.constant in (None, False))


def _is_made_by(value: Value, loader: CallEvent) -> bool:
    return isinstance(value.object, Made) and value.object.path == aliases.LOADER and value.object.site == loader.site


def _sampler(loader: CallEvent, prepared: CallEvent) -> ClassInfo | None:
    """The class of the loader's sampler, if it is the program's own; Fabric divides no batches."""
    given = loader.argument(3, "sampler")
    if given is None and seeds.kind_of(prepared) == frameworks.ACCELERATOR:
        given = loader.argument(4, "batch_sampler")
    return given.object.info if given is not None and isinstance(given.object, Instance) else None


def _last_seeding(facts: ModuleFacts, loader: CallEvent, draw: Draw) -> CallEvent | None:
    """The last call that seeds what a sampler draws from, before it first does."""
    generators = set(randomness.FUNCTIONS[draw.path].generators)
    begins = [i.index for i in facts.iterations if i.loop.over is not None and _is_made_by(i.loop.over, loader)]
    end = min(begins, default=loader.index)
    before = (
        call for call in seeds.seedings(facts)
        if call.index < end and generators & set(seeds.row(call).generators)
        and call.context.calls[:1] == loader.context.calls[:1]
    )  # fmt: skip
    return max(before, key=lambda call: call.index, default=None)
