"""Loaders that a trainer of transformers gets from the project's own subclass of it, and does not prepare itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import loaders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import framework_objects
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.knowledge import frameworks, heuristics
from ddpdoctor.lint.values.abstract_objects import Function, Instance, Made
from ddpdoctor.lint.values.tags import ANY_RANK, Tag
from ddpdoctor.lint.values.values import Value, of_object
from ddpdoctor.program.modules import ClassInfo, FunctionInfo
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import site_of

#: gives the loader that is trained on, prepared (transformers 5.23, `Trainer._inner_training_loop` takes it as it is)
_GIVES = "get_train_dataloader"
#: methods of Accelerate that prepare a loader, maybe where the class takes it
_PREPARES = frozenset({"prepare", "prepare_data_loader"})
#: samplers of libraries that know of one process
_OF_ONE = frozenset(
    f"torch.utils.data.{name}"
    for name in ("RandomSampler", "SequentialSampler", "WeightedRandomSampler", "SubsetRandomSampler")
) | {"transformers.trainer_pt_utils.LengthGroupedSampler"}  # fmt: skip


def undivided(facts: ModuleFacts) -> Iterator[Made]:
    """The loaders that such a class gives, of which every rank goes through the same batches."""
    for info in facts.module.classes:
        method = info.methods.get(_GIVES)
        if method is not None and frameworks.TRAINER in framework_objects.bases(facts.analysis, info):
            given = _given(facts, info, method) if _names(info).isdisjoint(_PREPARES) else None
            loader = loaders.loader_of(given)
            if given is not None and loader is not None and _is_for_one(given, loader):
                yield loader


def _given(facts: ModuleFacts, info: ClassInfo, method: FunctionInfo) -> Value | None:
    """What the method returns."""
    analysis, site = facts.analysis, site_of(info.module, method.node)
    trainer = of_object(Instance(info, None), "self", id(info))
    with analysis.quietly():
        outcome = analysis.call(Function(method, trainer), (), (), Frame(info.module, calls=("",)), site)
    return outcome.value if outcome is not None else None


def _is_for_one(given: Value, loader: Made) -> bool:
    """Whether nothing prepares it, and no sampler gives each rank batches of its own."""
    if loader.opaque or given.tags & (Tag.PREPARED | Tag.MAYBE):
        return False
    batches = loader.argument(4, "batch_sampler")
    sampler = loaders.given_sampler(given)
    if batches is not None and sampler is None:
        sampler = batches
    if sampler is None or (sampler.known and sampler.constant is None):
        return True
    return not sampler.tags & Tag.MAYBE and _knows_one_process(sampler)


def _knows_one_process(sampler: Value) -> bool:
    obj = sampler.object
    if isinstance(obj, Instance):
        mine = not any(map(heuristics.NAMES_RANK.found_in, _names(obj.info))) and obj.base is None
        return mine and not _given_ranks(obj)
    return isinstance(obj, Made) and obj.path in _OF_ONE and not _given_ranks(obj)


def _given_ranks(made: Made | Instance) -> bool:
    given = (*made.args, *(value for _, value in made.keywords))
    return any(len(value.atoms) > 1 or value.tags & (ANY_RANK | Tag.WORLD | Tag.IN_GROUP) for value in given)


def _names(info: ClassInfo) -> set[str]:
    """Names of the class, and of the arguments that it takes."""
    nodes = walk(info.node)
    taken = {node.arg for node in nodes if isinstance(node, ast.arg)}
    return taken | {last_name(node) for node in nodes if isinstance(node, (ast.Name, ast.Attribute))}
