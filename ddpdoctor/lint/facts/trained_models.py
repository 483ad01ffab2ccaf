"""The model that a trainer of transformers trains, where only some ranks run it: it may be sharded by settings."""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import framework_objects
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import frameworks
from ddpdoctor.lint.values.abstract_objects import Instance, Made, Method
from ddpdoctor.lint.values.values import EVERY_RANK, Atom, Value, unknown
from ddpdoctor.program.modules import Module

#: run a forward pass
_RUN = ("__call__", "forward", "generate")
#: attributes of a trainer, and the parameter of a callback's hooks, that are the model
_MODEL = "model"
_MODELS = frozenset({_MODEL, "model_wrapped"})
#: contexts in which the parameters are there on each rank
_GATHERED = frozenset({"GatheredParameters", "unwrap_model_for_generation", "summon_full_params"})


def run_on_some_ranks(facts: ModuleFacts) -> Iterator[CallEvent]:
    """Forward passes of such a model, in its trainer or a callback, that some ranks leave to others."""
    given = _given_to_hooks(facts)
    calls = [call for call in facts.methods(*_RUN) if call.receiver is not None]
    for call in calls:
        if not call.context.some_ranks_only or not _GATHERED.isdisjoint(call.context.withs):
            continue
        if _is_trained(facts, call.receiver, given) and not _elsewhere_too(call, calls):
            yield call


def _given_to_hooks(facts: ModuleFacts) -> set[Atom]:
    """What callbacks are given as the model."""
    modules: list[Module] = [*facts.modules]
    return {
        unknown("parameter", id(method), _MODEL).atoms[0]
        for module in modules
        for info in module.classes
        if frameworks.TRAINER_CALLBACK in framework_objects.bases(facts.analysis, info)
        for name, method in info.methods.items()
        if name.startswith(frameworks.ON_ALL_RANKS)
    }


def _is_trained(facts: ModuleFacts, model: Value | None, given: set[Atom]) -> bool:
    if model is None:
        return False
    held = model.object
    if isinstance(held, Method) and held.name in _MODELS:
        owner = held.receiver.object
        if isinstance(owner, Instance):
            return frameworks.TRAINER in framework_objects.bases(facts.analysis, owner.info)
        return isinstance(owner, Made) and frameworks.kind(owner.path) == frameworks.TRAINER
    return held is None and len(model.atoms) == 1 and model.atoms[0] in given


def _elsewhere_too(call: CallEvent, calls: list[CallEvent]) -> bool:
    """Whether the other ranks run it as well, in a branch of their own."""
    rest = EVERY_RANK & ~call.context.mask
    return any(
        other is not call and other.context.function is call.context.function and other.receiver == call.receiver
        and other.context.mask & rest
        for other in calls
    )  # fmt: skip
