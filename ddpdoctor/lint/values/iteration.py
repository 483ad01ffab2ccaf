"""What an iterable yields: what a `for` iterates over, its elements, how often it runs."""

from __future__ import annotations

from collections.abc import Callable

from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.values import containers, data_partition, set_orders
from ddpdoctor.lint.values.abstract_objects import Class, Instance, Items, Listed, Made, Method, Table
from ddpdoctor.lint.values.tags import DATA, ORIGIN, SHARES, Tag
from ddpdoctor.lint.values.values import WORLD, Atom, Taint, Value, const, of_object, symbol, unknown
from ddpdoctor.model.record import replace

#: calls that yield the elements of their first argument
_GOING_THROUGH = frozenset({
    "builtins.enumerate", "builtins.iter", "builtins.list", "builtins.tuple", "builtins.reversed", "tqdm.tqdm", "tqdm",
    "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "tqdm.rich.tqdm", "rich.progress.track", "itertools.islice",
    "torch_xla.distributed.parallel_loader.MpDeviceLoader", "torch.nn.ModuleList",
})  # fmt: skip

#: calls that count like `range`, and show how far they are
_COUNTING = frozenset({"tqdm.trange", "tqdm.auto.trange", "tqdm.notebook.trange", "tqdm.rich.trange"})

#: what a `for` really goes through, and its elements, None where they are not known
Iterated = tuple[Value, Value | None]


def _is_range(value: Value) -> bool:
    return isinstance(value.object, Made) and value.object.path == "builtins.range"


def _starred(made: Made) -> Value | None:
    """Any element of the list in `zip(*loaders)`."""
    lists = [v for name, v in made.keywords if name == "*"]
    return containers.element_of(lists[0], "any") if len(lists) == 1 and not made.args else None


def zipped_with(over: Value) -> tuple[Value, ...]:
    """What is iterated in parallel with the first argument of `zip(first, ...)`, also inside `enumerate`
    and the like.
    """
    obj = over.object
    if isinstance(obj, Made) and obj.args:
        if obj.path == "builtins.zip":
            counted = any(_is_range(a) for a in obj.args)
            return tuple(a.tagged(Tag.CUT) if counted else a for a in obj.args[1:])
        if obj.path in _GOING_THROUGH:
            return zipped_with(obj.args[0])
    return ()


def iterated_of(over: Value) -> Iterated:
    """(what a `for` iterates over, its elements if known)."""
    obj = over.object
    if isinstance(obj, Made):
        goes_through = _OF_CALLS.get(obj.path)
        if goes_through is not None:
            return goes_through(over, obj)
    if isinstance(obj, Instance) and obj.base is not None and obj.base.path == aliases.LOADER:
        return _batches(over, obj.base)
    return _of_method(over, obj) if isinstance(obj, Method) else _elements(over)


def _of_method(over: Value, obj: Method) -> Iterated:
    """`table.values()`, `meters.items()`: what a dictionary holds."""
    over = over.tagged(set_orders.order_of(over))
    held = obj.receiver.object
    if isinstance(held, Table):
        return containers.gone_through(over, held, obj.name)
    if isinstance(held, Made) and held.path == _MAKES_ITS_VALUES:
        return over, _made_for_keys(over, held, obj.name)
    if obj.name in ("values", "items") and over.taint is Taint.RANK_LOCAL:
        return over, _named_part(over, obj.name)
    return _elements(over)


def _named_part(over: Value, method: str) -> Value:
    """A value in a dict of this rank's data, alone or with its name: the names are equal on all ranks."""
    part = unknown("part", over.atoms, taint=Taint.RANK_LOCAL, tags=over.tags & DATA | Tag.PART)
    return part if method == "values" else of_object(Items((unknown("name", over.atoms), part)))


#: a dict that makes the value of a key that it does not have
_MAKES_ITS_VALUES = "collections.defaultdict"


def _made_for_keys(over: Value, made: Made, name: str) -> Value | None:
    """Any element of `meters.values()` and `meters.items()` where the dict makes them: `defaultdict(Meter)`."""
    factory = made.args[0].object if made.args else None
    if not isinstance(factory, Class) or name not in ("values", "items"):
        return None
    value = of_object(Instance(factory.info, made.site), "made for a key", made.site)
    return value if name == "values" else of_object(Items((unknown("key", over.atoms), value)), "item", made.site)


def _elements(over: Value) -> Iterated:
    return over, _sample_of(over) or containers.element_of(over, "any") or _share_of(over)


def _sample_of(data: Value) -> Value | None:
    """One of the samples of a batch of this rank, or of its share of the data, which are this rank's own as well; also
    one of the pieces that a share was cut into."""
    obj = data.object
    share = data_partition.cut_up(data)
    if share is not None:
        # whose elements are samples
        return unknown("piece", data.atoms, taint=Taint.RANK_LOCAL, tags=share.tags & SHARES)
    shared_out = bool(data.tags & SHARES)
    if isinstance(obj, Listed) and obj.element is not None and (obj.element.object is not None or not shared_out):
        return None
    if shared_out and (obj is None or isinstance(obj, (Method, Listed, Made))):
        tags = (data.tags & ORIGIN) | Tag.BATCH | Tag.PART | Tag.SAMPLE
        return unknown("sample", data.atoms, taint=Taint.RANK_LOCAL, tags=tags)
    of_batch = data.taint is Taint.RANK_LOCAL and data.tags & Tag.BATCH
    if data.taint is Taint.RANK_LOCAL and data.tags & Tag.OF_ROOT and obj is None:
        # one of several sums that were reduced together
        return unknown("sum", data.atoms, taint=Taint.RANK_LOCAL, tags=data.tags & DATA | Tag.PART)
    if not of_batch or not (obj is None or isinstance(obj, (Method, Listed))):
        return None
    tags = (data.tags & (DATA | Tag.EXAMPLE) & ~Tag.UNEVEN) | Tag.PART | Tag.ELEMENT
    return unknown("sample", data.atoms, taint=Taint.RANK_LOCAL, tags=tags)


#: calls that take an element when they are asked for one
_TAKING = _GOING_THROUGH - {"builtins.list", "builtins.tuple", "builtins.reversed", "itertools.islice"}
ITERATOR = "builtins.iter"


def iterator_of(over: Value) -> Value | None:
    """The iterator out of which a loop takes its elements, None if the program has not made one with `iter`."""
    made = over.object
    while isinstance(made, Made) and made.path != ITERATOR and made.path in _TAKING and made.args:
        over, made = made.args[0], made.args[0].object
    return over if isinstance(made, Made) and made.path == ITERATOR else None


def _first_argument(over: Value, made: Made) -> Iterated:
    return iterated_of(made.args[0]) if made.args else _elements(over)


def _enumerated(over: Value, made: Made) -> Iterated:
    if not made.args:
        return _elements(over)
    inner, element = iterated_of(made.args[0])
    index = unknown("index", made.site, taint=Taint.GIVEN)
    return inner, of_object(Items((index, element or unknown("item", made.site))))


def _sliced(over: Value, made: Made) -> Iterated:
    inner, element = _first_argument(over, made)
    if len(made.args) > 1:
        inner = inner.tagged(Tag.SHARD if data_partition.strided(inner, made.args[1:]) else Tag.CUT)
    return inner, element


def _zipped(over: Value, made: Made) -> Iterated:
    if not made.args:
        any_of = _starred(made)
        return iterated_of(any_of) if any_of is not None else (over, None)
    inner, _ = iterated_of(made.args[0])
    if any(_is_range(a) for a in made.args[1:]):
        inner = inner.tagged(Tag.CUT)
    elements = (iterated_of(a)[1] or unknown("item", (made.site, n)) for n, a in enumerate(made.args))
    return inner, of_object(Items(tuple(elements)))


def _batches(over: Value, loader: Made) -> Iterated:
    return over, unknown("batch", loader.site, taint=Taint.RANK_LOCAL, tags=Tag.BATCH)


def _indices(over: Value, sampler: Made) -> Iterated:
    """The indices that torch's sampler gives this rank: as many as it gives the others."""
    return over, unknown("sample", sampler.site, taint=Taint.RANK_LOCAL, tags=Tag.BATCH | Tag.PART | Tag.SAMPLE)


def _range(over: Value, made: Made) -> Iterated:
    if over.tags & SHARES:
        return over, unknown("index", made.site, taint=Taint.RANK_LOCAL, tags=Tag.INDEX | Tag.BATCH | Tag.PART)
    alike = all(bound.taint <= Taint.GIVEN for bound in made.args)
    return over, unknown("index", made.site, taint=Taint.GIVEN if alike else Taint.UNKNOWN, tags=Tag.INDEX)


def _shown_range(over: Value, made: Made) -> Iterated:
    return _range(over.with_object(replace(made, path="builtins.range", keywords=())), made)


_OF_CALLS: dict[str, Callable[[Value, Made], Iterated]] = {
    **dict.fromkeys(_GOING_THROUGH, _first_argument),
    "builtins.enumerate": _enumerated,
    "itertools.islice": _sliced,
    "builtins.zip": _zipped,
    "builtins.range": _range,
    **dict.fromkeys(_COUNTING, _shown_range),
    aliases.LOADER: _batches,
    aliases.SAMPLER: _indices,
}


#: how the paths of methods' results and of what is known of Python begin: those were no loaders
_SEEN = ("?", "builtins.")


def _share_of(over: Value) -> Value | None:
    """A batch from an object that a framework prepared: the framework gives each rank a share."""
    made_unseen = isinstance(over.object, Made) and not over.object.path.startswith(_SEEN)
    if (over.object is not None and not made_unseen) or over.known or not over.tags & Tag.PREPARED:
        return None
    return unknown("batch", over.atoms, taint=Taint.RANK_LOCAL, tags=Tag.BATCH)


#: methods that give the parameters of a network, alone or with their names
_PARAMETERS = ("?.parameters", "?.named_parameters")
#: the path of one of them, whichever it is
PARAMETER = "?.parameter"


def unknown_element(over: Value, *key: object) -> Value:
    """An element of which no more is known than what it is taken from: the parameter of a network is still one."""
    element = unknown("element", *key, tags=set_orders.of_element(over))
    made = over.object
    if not isinstance(made, Made) or made.path not in _PARAMETERS or not made.args:
        return element
    parameter = element.with_object(Made(PARAMETER, made.site, made.args[:1]))
    if made.path == _PARAMETERS[0]:
        return parameter
    return element.with_object(Items((unknown("name of", *key), parameter)))


def only_element(over: Value) -> Value | None:
    """What a loop with one turn goes through: of a list of one, or a range, None of others."""
    obj = over.object
    if isinstance(obj, Items):
        return obj.items[0] if len(obj.items) == 1 and obj.items[0].known else None
    if over.known and isinstance(over.constant, tuple):
        return const(over.constant[0]) if len(over.constant) == 1 else None
    if not isinstance(obj, Made) or obj.path != "builtins.range":
        return None
    bounds = [bound.constant for bound in obj.args if isinstance(bound.constant, int)]
    if not bounds or len(bounds) < len(obj.args) or not all(bounds[2:]):
        return None
    turns = range(*bounds[:3])
    return const(turns[0]) if len(turns) == 1 else None


def count_of(over: Value) -> tuple[Atom, ...]:
    """How often a loop runs, as far as that can differ by rank."""
    obj = over.object
    if isinstance(obj, Made) and obj.path == "builtins.range" and obj.args:
        bounds = obj.args
        if all(b.known for b in bounds) and any(len(b.atoms) > 1 for b in bounds):
            try:
                return tuple(len(range(*(b.at(r) for b in bounds))) for r in range(WORLD))
            except (TypeError, ValueError, OverflowError):
                return (symbol("range", obj.site),)
    return (symbol("count", over.atoms[0] if len(over.atoms) == 1 else 0),)
