"""The parts of a network that are made in the order of a set, by which wrappers pair those of all ranks."""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import networks, orders_of_sets, prepared_orders
from ddpdoctor.lint.facts.module_facts import DDP_PATHS, ModuleFacts
from ddpdoctor.lint.interpreter import fsdp
from ddpdoctor.lint.interpreter.events import CallEvent, Context
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.values import set_orders
from ddpdoctor.lint.values.abstract_objects import Items, Listed, Made, Table
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Value, symbol_key
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.sites import SourceSite

#: those that are numbered
_BY_NUMBER = frozenset({"torch.nn.ModuleList", "torch.nn.ParameterList", "torch.nn.Sequential"})
#: methods that give a network a part, by a name that has to be a text
_ADDING = ("add_module", "register_module", "register_parameter")


class Place(NamedTuple):
    """Where parts of a network are made in the order of a set."""

    site: SourceSite
    context: Context
    #: what is in that order
    ordered: Value


class PartsInOrder(NamedTuple):
    """Parts of a network that are in the order of a set of texts."""

    place: Place
    #: what wraps that network
    wrap: CallEvent
    #: where the set was made, if that is known
    origin: SourceSite | None


def in_order_of_sets(facts: ModuleFacts) -> Iterator[PartsInOrder]:
    """Parts that every process registers in an order of its own, in a network that has its gradients averaged."""
    found = {place.site: place for place in (*_containers(facts), *_added(facts), *_named(facts))}
    if not found or orders_of_sets.salted_alike(facts):
        return
    wraps = list(_wraps(facts))
    for place in found.values():
        site, context = place.site, place.context
        wrap = next((wrap for wrap, network in wraps if networks.makes(facts.analysis, network, site, context)), None)
        if wrap is not None and not context.some_ranks_only:
            yield PartsInOrder(place, wrap, facts.analysis.set_orders.get(symbol_key(place.ordered) or 0))


def _containers(facts: ModuleFacts) -> Iterator[Place]:
    """`ModuleDict({name: make(name) for name in names})`, and the like; `ParameterDict` sorts the names of a dict."""
    for call in facts.named(aliases.PARTS_BY_NAME, *_BY_NUMBER):
        given = [*call.args, *(value for name, value in call.keywords if name in ("*", "modules"))]
        named = call.path == aliases.PARTS_BY_NAME
        ordered = next((value for value in given if _is_of_texts(value, named=named)), None)
        if ordered is not None:
            yield Place(call.site, call.context, ordered)


def _is_of_texts(value: Value, *, named: bool) -> bool:
    """Whether something is in the order of a set of texts; `named`: what are its keys are texts."""
    order = set_orders.order_of(value)
    return bool(order & Tag.OF_SET) or (named and bool(order & Tag.OF_ANY_SET) and _is_keyed(value))


def _is_keyed(value: Value) -> bool:
    """Whether its keys are the elements of the set: a dict, or a list of pairs."""
    obj = value.object
    if isinstance(obj, Listed):
        pair = obj.element.object if obj.element is not None else None
        return isinstance(pair, Items) and bool(pair.items) and bool(pair.items[0].tags & Tag.IN_SET)
    return isinstance(obj, Table)


def _added(facts: ModuleFacts) -> Iterator[Place]:
    """`self.add_module(name, make(name))` and `parts.append(make(name))`, one after the other."""
    for call in facts.methods(*_ADDING):
        over = _gone_through(call.context, call.args[0]) if call.args else None
        if over is not None:
            yield Place(call.site, call.context, over)
    for call in facts.methods("append"):
        held = call.receiver.object if call.receiver is not None else None
        over = _gone_through(call.context, None)
        if over is not None and isinstance(held, Made) and held.path in _BY_NUMBER:
            yield Place(call.site, call.context, over)


def _named(facts: ModuleFacts) -> Iterator[Place]:
    """`parts[name] = make(name)`, one after the other."""
    for part in facts.analysis.named_parts:
        over = _gone_through(part.context, part.name)
        if over is not None:
            yield Place(part.site, part.context, over)


def _gone_through(context: Context, name: Value | None) -> Value | None:
    """The set of texts that the innermost loop goes through: it is one if the name of a part is its element."""
    over = context.loops[-1].over if context.loops else None
    if over is None:
        return None
    order = set_orders.order_of(over)
    told = name is not None and name.tags & Tag.IN_SET and order & Tag.OF_ANY_SET
    return over if told or order & Tag.OF_SET else None


def _wraps(facts: ModuleFacts) -> Iterator[tuple[CallEvent, Value]]:
    """What averages the gradients of a network, or shards its parameters; and that network."""
    for call in facts.named(*DDP_PATHS, aliases.FSDP, *fsdp.SHARDING):
        network = call.argument(0, "module")
        if network is not None:
            yield call, network
    for call in filter(prepared_orders.prepares, facts.methods(*prepared_orders.METHODS)):
        yield from ((call, given) for given in call.args)
