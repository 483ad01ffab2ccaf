"""Samplers and loaders: which sampler a loader has, whether it shuffles, what it drops."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from enum import Enum

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import sampler_copies
from ddpdoctor.lint.interpreter.classes import find_method
from ddpdoctor.lint.interpreter.events import EnclosingLoop, Iteration
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.instances import instance_value
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.values import loader_join
from ddpdoctor.lint.values.abstract_objects import Function, Instance, Listed, Made, Table
from ddpdoctor.lint.values.iteration import iterated_of
from ddpdoctor.lint.values.tags import NO_TAGS, Tag, Tags, union
from ddpdoctor.lint.values.values import Taint, Value, symbol_key
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import decorator_name, last_name, walk
from ddpdoctor.program.sites import site_of


def loader_of(value: Value | None) -> Made | None:
    """The `DataLoader(...)` call of a value, also for an instance of a subclass."""
    return _extended(value, aliases.LOADER)


def _extended(value: Value | None, path: str) -> Made | None:
    made = loader_join.made_of(value)
    return made if made is not None and made.path == path else None


def sampler_of(value: Value | None) -> Made | None:
    """The DistributedSampler of a loader, also inside a BatchSampler."""
    return _extended(given_sampler(value), aliases.SAMPLER)


def given_sampler(value: Value | None) -> Value | None:
    """The sampler given to a loader, also inside a BatchSampler."""
    loader = loader_of(value)
    return loader_join.given_sampler(loader) if loader is not None else None


def turns_by_itself(sampler: Value) -> bool:
    """Whether it is a sampler of the project with an order of its own, or one that counts epochs itself."""
    obj = sampler.object
    if not isinstance(obj, Instance):
        return False
    if any(m.name not in ("__init__", "set_epoch") for m in obj.info.stores.get("epoch", ())):
        return True
    order = obj.info.methods.get("__iter__")
    words = {n.attr for n in walk(order.node) if isinstance(n, ast.Attribute)} if order is not None else {"epoch"}
    added = [n.target for n in walk(order.node) if isinstance(n, ast.AugAssign)] if order is not None else []
    counts = any(isinstance(target, ast.Attribute) for target in added)
    return counts or not words & {"epoch", "__iter__"}


def reorders_batches(value: Value) -> bool:
    """Whether a sampler of batches of the project puts what it gets in an order of its own."""
    loader = loader_of(value)
    batches = loader.argument(4, "batch_sampler") if loader is not None else None
    obj = batches.object if batches is not None else None
    order = obj.info.methods.get("__iter__") if isinstance(obj, Instance) else None
    words = {last_name(n.func) for n in walk(order.node) if isinstance(n, ast.Call)} if order is not None else set()
    return not sampler_copies.SHUFFLING.isdisjoint(words)


def shuffles(sampler: Made) -> bool:
    """Whether it certainly shuffles: `shuffle` is true or left at its default."""
    given = sampler.argument(3, "shuffle")
    return (given is None and not sampler.opaque) or (given is not None and given.known and given.constant is True)


def drops_last(made: Made, position: int) -> bool | None:
    """Whether `drop_last` is set; None if that is not known."""
    given = made.argument(position, "drop_last")
    if given is None:
        return None if _may_be_given(made, "drop_last") else False
    return bool(given.constant) if given.known else None


def _may_be_given(made: Made, name: str) -> bool:
    """Whether arguments that are unpacked may hold one of a name."""
    unpacked = [value.object for key, value in made.keywords if key == "**"]
    tables = [held for held in unpacked if isinstance(held, Table) and held.complete]
    plain = len(tables) == len(unpacked) and not any(key == "*" for key, _ in made.keywords)
    return not plain or any(key == name for table in tables for key, _ in table.entries)


def shard_tags(facts: ModuleFacts, value: Value) -> Tags:
    """Tags that say how data was partitioned by rank; an object of the project has those of its length and its
    elements.
    """
    obj = value.object
    if not isinstance(obj, Instance):
        return value.tags
    tags = value.tags | _yielded_tags(facts, value, obj)
    length = find_method(facts.analysis, obj.info, "__len__")
    if length is None:
        return tags
    frame = Frame(obj.info.module)
    measured = {n.attr for n in walk(length.node) if isinstance(n, ast.Attribute)}
    stored = (
        _replaced(facts, value, name) or instance_value(facts.analysis, frame, value, obj, name)
        for name in sorted(measured)
    )
    return tags | union(v.tags for v in stored if v is not None)


def _replaced(facts: ModuleFacts, value: Value, name: str) -> Value | None:
    """What an attribute was given from outside of its class: `data.rows = data.rows[:fewest]`."""
    key = symbol_key(value)
    places = (place for module in facts.modules for place in module.attribute_stores)
    given = any(attribute == name and owner != "self" for owner, attribute in places)
    return facts.analysis.heap.get((key, name)) if given and key is not None else None


def _yielded_tags(facts: ModuleFacts, value: Value, obj: Instance) -> Tags:
    """How the elements of `__iter__` are partitioned."""
    over = yielded(facts, value, obj)
    if over is None:
        return NO_TAGS
    # how many elements a list of this rank's data has, its length says
    listed = Tag.UNEVEN if over.taint is Taint.RANK_LOCAL and not over.tags & Tag.FILLED_UP else NO_TAGS
    return over.tags & (Tag.SHARD | Tag.BLOCK | listed)


def yielded(facts: ModuleFacts, value: Value, obj: Instance) -> Value | None:
    """What `__iter__` of an object goes through; None if it has none, or if that is not known."""
    order = find_method(facts.analysis, obj.info, "__iter__")
    if order is None:
        return None
    analysis, site = facts.analysis, site_of(obj.info.module, order.node)
    with analysis.quietly():
        outcome = analysis.call(Function(order, value), (), (), Frame(obj.info.module, calls=("",)), site)
    return iterated_of(outcome.value)[0] if outcome is not None else None


def trains(loop: EnclosingLoop) -> bool:
    """Whether the loop itself goes back over what it gets."""
    calls = (node for node in walk(loop.node) if isinstance(node, ast.Call))
    return any(last_name(call.func) == "backward" for call in calls)


def runs_once(loop: EnclosingLoop) -> bool:
    """Whether it is `for epoch in range(1)`."""
    obj = loop.over.object if loop.over is not None else None
    return isinstance(obj, Made) and obj.path == "builtins.range" and bool(obj.args) and (
        obj.args[-1].constant == 1 and len(obj.args) == 1)  # fmt: skip


def once_by_default(facts: ModuleFacts, loop: EnclosingLoop) -> str:
    """The option that says how often the loop runs, if that is once where nobody gives it; "" for any other loop."""
    obj = loop.over.object if loop.over is not None else None
    if not isinstance(obj, Made) or obj.path != "builtins.range" or obj.node is None or not obj.node.args:
        return ""
    number = _uncast(obj.node.args[min(len(obj.node.args), 2) - 1])
    key = number.slice if isinstance(number, ast.Subscript) else None
    name = str(key.value) if isinstance(key, ast.Constant) else last_name(number)
    modules = facts.modules
    # `num_epochs = args.epoch`, wherever that is
    names = {name, *(last_name(_uncast(value)) for held, value in facts.assignments if held == name)}
    options = (option for module in modules for one in names for option in module.options.get(one, ()))
    found = next((option.flag for option in options if _is_one(option.default)), "")
    return found or (f"--{name}" if name and _is_one_in_commands(modules, name) else "")


#: functions that give a number as a whole one
_WHOLE = frozenset({"int", "round", "ceil", "floor"})


def _uncast(number: ast.expr) -> ast.expr:
    """The number that is made a whole one: `epochs` of `int(epochs)`."""
    whole = isinstance(number, ast.Call) and last_name(number.func) in _WHOLE and len(number.args) == 1
    return number.args[0] if isinstance(number, ast.Call) and whole else number


#: decorators that make the parameters of a function options of the program: fastcore's, and those of click and typer
_COMMANDS = frozenset({"call_parse", "command"})


def _is_one_in_commands(modules: Iterable[Module], name: str) -> bool:
    """Whether a parameter is an option of the program that is 1 by default, as it is wherever else it has a default."""
    given = [
        (info, value)
        for module in modules
        for info in module.functions
        for parameter, value in _with_defaults(info.node.args)
        if parameter == name
    ]
    commands = any(decorator_name(d) in _COMMANDS for info, _ in given for d in info.decorators)
    return commands and all(isinstance(value, ast.Constant) and value.value == 1 for _, value in given)


def _with_defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """The parameters that have a default, with it."""
    positional = (*arguments.posonlyargs, *arguments.args)
    last = positional[len(positional) - len(arguments.defaults) :]
    yield from ((a.arg, d) for a, d in zip(last, arguments.defaults, strict=True))
    yield from ((a.arg, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None)


def _is_one(default: ast.expr | None) -> bool:
    return isinstance(default, ast.Constant) and default.value in (1, "1")


def assigned_name(facts: ModuleFacts, made: Made) -> str | None:
    """The variable that the object is assigned to where it is created."""
    if made.site.file != facts.module.path:
        return None
    for node in facts.module.nodes:
        if isinstance(node, ast.Assign) and node.value is made.node and len(node.targets) == 1:
            target = node.targets[0]
            return target.id if isinstance(target, ast.Name) else None
    return None


def same_function(facts: ModuleFacts, one: int, two: int) -> bool:
    """Whether two lines have the same innermost function."""
    return innermost_function(facts.module.tree, one) is innermost_function(facts.module.tree, two)


def handed_on(facts: ModuleFacts, iteration: Iteration) -> list[Iteration]:
    """The loops over what a generator yields in its own loop: `for batch in log.every(loader)`."""
    chain, node = iteration.context.chain, iteration.loop.node
    inside = {type(n) for n in walk(node)} if chain and isinstance(node, ast.For) else set()
    if ast.Yield not in inside or ast.Return in inside:
        return []  # what it leaves by `return` may be as much as all ranks have
    listed = ((one, one.loop.over.object) for one in facts.iterations if one.loop.over is not None)
    return [one for one, obj in listed if isinstance(obj, Listed) and obj.site == chain[-1]]


class Share(Enum):
    """Why ranks have different numbers of what a loop goes through."""

    #: the data does not divide by the number of ranks
    CUT = "cut"
    #: each rank puts its own samples into batches, or leaves some out, by what they are
    PACKED = "packed"


def share_of(facts: ModuleFacts, over: Value) -> Share | None:
    """A shard itself, or a loader over one that keeps the incomplete batch (dropping it does not make blocks equal);
    and batches of which each rank makes its own number."""
    loader = loader_of(over)
    if loader is None:
        tags = shard_tags(facts, over)
        # a loop over a list that is uneven itself is left by a condition of its own, of which DD113 tells
        return _kind(tags if isinstance(over.object, Instance) else tags & ~Tag.UNEVEN, Tag.SHARD)
    batches = loader.argument(4, "batch_sampler")
    if batches is not None and isinstance(batches.object, Instance):
        return _kind(shard_tags(facts, batches), Tag.SHARD)
    if sampler_of(over) is not None:
        return None
    if batches is not None:
        return _kind(batches.tags, Tag.SHARD)
    given = [loader.argument(0, "dataset"), loader.argument(3, "sampler")]
    tags = union(shard_tags(facts, v) for v in given if v is not None)
    drops = drops_last(loader, 8)
    kept = (Tag.SHARD if drops is False else NO_TAGS) | (Tag.BLOCK if drops is not None else NO_TAGS)
    return _kind(tags, kept)


def _kind(tags: Tags, cut: Tags) -> Share | None:
    if tags & cut:
        return Share.CUT
    return Share.PACKED if tags & Tag.UNEVEN else None
