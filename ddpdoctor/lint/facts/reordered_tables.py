"""Data that a method puts into an order of each process's own, and what then divides them between ranks by index."""

from __future__ import annotations

from ddpdoctor.lint.facts import blocks, held_orders, prepared_orders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases, frameworks
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import ANY_RANK
from ddpdoctor.lint.values.values import Atom
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.sites import SourceSite, site_of


def each_by_itself(facts: ModuleFacts, call: CallEvent) -> str:
    """Why a method that shuffles gives each rank another order, "" if it may give all the same."""
    seed = call.argument(0, "seed")
    if seed is not None:
        return "the seed depends on the rank" if seed.tags & ANY_RANK or len(seed.atoms) > 1 else ""
    of_table = not call.args and not call.keywords and not call.opaque
    return "nothing is seeded yet" if of_table and _draws_itself(facts, call) else ""


def splits_by_itself(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether a method splits a table in another way in each process: `rows.train_test_split(test_size=0.1)`."""
    mixes = call.keyword("shuffle")
    given = any(call.keyword(name) is not None for name in ("seed", "generator"))
    kept = call.opaque or given or (mixes is not None and mixes.constant is not True)
    return not kept and not call.context.some_ranks_only and _draws_itself(facts, call)


def _draws_itself(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether it is a method of a table of the package `datasets`, which draws a seed from numpy's generator, and
    nothing has seeded that."""
    return _knows_tables(call) and held_orders.unseeded(facts, call)


def _knows_tables(call: CallEvent) -> bool:
    """Whether the file gets its data from the package `datasets`."""
    return any(path.partition(".")[0] == "datasets" for path in call.context.module.imports.values())


def divided(facts: ModuleFacts, shuffled: CallEvent) -> CallEvent | None:
    """Where data that come from the call's result are divided between the ranks by index: by a sampler, by
    Accelerate or Fabric, by the trainer of transformers, or by a method of the data."""
    made = {shuffled.result.atoms}
    loaded: set[SourceSite] = set()
    later = (call for call in facts.calls if call.index > shuffled.index)
    for call in sorted(later, key=lambda one: one.index):
        of_data = call.receiver is not None and call.receiver.atoms in made
        if of_data and call.method == "shard":
            return call
        if of_data and call.method in _SAME_ORDER:
            made.add(call.result.atoms)
        given = _is_given(call, made)
        if given and call.path in _DIVIDING:
            return call
        if frameworks.kind(call.path) == frameworks.TRAINER and _trains_on(facts, call, shuffled, made):
            return call
        if given and call.path == aliases.LOADER and _by_order(call):
            loaded.add(call.site)
        if prepared_orders.prepares(call) and any(
            isinstance(v.object, Made) and v.object.site in loaded for v in call.args
        ):
            return call
    return None


def _trains_on(facts: ModuleFacts, trainer: CallEvent, shuffled: CallEvent, made: set[tuple[Atom, ...]]) -> bool:
    """Whether a trainer is given the data to train on, also by a variable of the function that shuffled them."""
    data = trainer.keyword("train_dataset")
    if data is None or data.atoms in made:
        return data is not None
    module = blocks.module_of(facts, shuffled.site)
    scope = innermost_function(module.tree, shuffled.site.line) if module is not None else None
    if module is None or scope is None or site_of(module, scope).end_line < trainer.site.line:
        return False
    named = next((k.value for k in trainer.node.keywords if k.arg == "train_dataset"), None)
    here = trainer.site.file == module.path and trainer.site.line > shuffled.site.line
    return here and named is not None and held_orders.reads(named, held_orders.held_in(scope, shuffled.node))


def _is_given(call: CallEvent, made: set[tuple[Atom, ...]]) -> bool:
    """Whether one of these is an argument."""
    return any(value.atoms in made for value in (*call.args, *(v for _, v in call.keywords)))


def _by_order(loader: CallEvent) -> bool:
    """Whether it takes what its data set has in this order, or in one that does not depend on it."""
    return all(loader.argument(at, name) is None for at, name in ((3, "sampler"), (4, "batch_sampler")))


#: methods of a data set that give one in the same order
_SAME_ORDER = frozenset({
    "select", "map", "filter", "with_format", "with_transform", "take", "skip", "flatten", "cast", "cast_column",
    "rename_column", "rename_columns", "remove_columns", "select_columns", "add_column",
})  # fmt: skip
#: functions and classes that give each rank its share by index
_DIVIDING = frozenset({aliases.SAMPLER, "datasets.distributed.split_dataset_by_node"})
