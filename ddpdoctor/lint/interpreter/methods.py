"""Calls of methods of external objects: the first resolver that knows the method gives the result."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache

from ddpdoctor.lint.interpreter import (
    bases,
    batches,
    environments,
    file_effects,
    framework_objects,
    fsdp,
    meshes,
    modes,
    random_state,
    signals,
    wrapping,
)
from ddpdoctor.lint.interpreter.classes import find_method
from ddpdoctor.lint.interpreter.collective_calls import averaging, enter_method
from ddpdoctor.lint.interpreter.invocations import MethodCall
from ddpdoctor.lint.interpreter.sources import variable
from ddpdoctor.lint.interpreter.spawning import SPAWNED, start
from ddpdoctor.lint.interpreter.trace import Op
from ddpdoctor.lint.knowledge import aliases, collectives, frameworks, randomness, vocabulary
from ddpdoctor.lint.knowledge.collectives import Collective
from ddpdoctor.lint.values.abstract_objects import (
    Function,
    Given,
    Instance,
    Items,
    Made,
    Method,
    Namespace,
    Table,
)
from ddpdoctor.lint.values.tags import (
    ANY_RANK,
    DATA,
    DRAWN_UP,
    MADE_UP,
    MODEL,
    NO_TAGS,
    OF_ALL,
    OF_BATCH,
    ORIGIN,
    REASONS,
    SAMPLES,
    UNEQUAL,
    Tag,
    Tags,
    of_all_parts,
    union,
)
from ddpdoctor.lint.values.values import FIRST_RANK, NONE, Taint, Value, lift, of_object, symbol_key, unknown
from ddpdoctor.model.record import replace
from ddpdoctor.program.classes import is_tuple

#: what is not true of the results of methods: some have no gradients, and a size tells nothing of what was computed
_LOST = {
    **dict.fromkeys(("detach", "item", "tolist", "numpy", "argmax"), Tag.BYPASS | Tag.BY_METHOD),
    **dict.fromkeys(vocabulary.EXTENTS, Tag.EVALUATED),
}


def _without_lost(method: str, tags: Tags) -> Tags:
    """The tags of what a method gives of something with these; of what is detached, where it comes from."""
    cut = method == "detach" and tags & Tag.DDP
    return ((tags & ~Tag.DDP) | Tag.DETACHED if cut else tags) & ~_LOST.get(method, NO_TAGS)


#: calls of unknown objects through which gradients flow: a criterion, a module, a gradient scaler
_DIFFERENTIABLE = frozenset({"__call__", "forward", "module", "scale"})


#: methods of a module that return the module itself
_MOVING = frozenset({"to", "cuda", "cpu", "train", "eval", "float", "half", "double", "bfloat16", "requires_grad_"})


def called(call: MethodCall) -> Value:
    """The result of the call; its collectives and files go into the frame's trace."""
    for resolve in _resolvers(call.name):
        value = resolve(call)
        if value is not None:
            return value
    origin = call.receiver.tags if call.name != "module" else NO_TAGS
    given = union(v.tags for v in call.given) if call.name in _DIFFERENTIABLE else NO_TAGS
    tags = ((origin | given) & ORIGIN) | (given & Tag.EVALUATED) | (call.receiver.tags & MADE_UP)
    return unknown("method", call.site, tags=tags).with_object(_by_method(call))


def _by_method(call: MethodCall) -> Made:
    """What a method gives of which nothing more is known."""
    return Made(f"?.{call.name}", call.site, (call.receiver, *call.args), call.keywords, call.node)


def _sharded_forward(call: MethodCall) -> Value | None:
    if fsdp.is_sharded(call.machine, call.receiver):
        return fsdp.forward(call.frame, call.given, call.site)
    return None


def _made(call: MethodCall) -> Value | None:
    """A method of an external constructor's result."""
    made = call.receiver.object
    if not isinstance(made, Made):
        return None
    for resolve in _resolvers_of_made(call.name):
        value = resolve(call, made)
        if value is not None:
            return value
    return None


def _signalled(call: MethodCall) -> Value | None:
    return signals.asked(call.receiver, call.name)


def _files(call: MethodCall) -> Value | None:
    return file_effects.method(call.frame, call.name, call.receiver, call.args, call.site)


def _random(call: MethodCall) -> Value | None:
    return random_state.method(call)


def _collective(call: MethodCall) -> Value | None:
    spec, obj = collectives.DUCK_METHODS.get(call.name), call.receiver.object
    if isinstance(obj, Instance):
        spec = framework_objects.inherited(call.machine, obj.info, call.name, call.keywords) or spec
    return enter_method(call.frame, spec, call.site) if spec is not None else None


def _of_base(call: MethodCall) -> Value | None:
    """`super().__iter__()` in a sampler that extends torch's: the indices that this gives the rank."""
    above, function = call.receiver.object, call.frame.function
    owner = function.owner if function is not None else None
    if not isinstance(above, Made) or above.path != "builtins.super" or owner is None:
        return None
    if bases.torch_base(call.machine, owner) != aliases.SAMPLER:
        return None
    return unknown("indices", call.site, tags=Tag.EVEN_SHARE)


def _port(call: MethodCall) -> Value | None:
    """`getsockname()` of a socket, which has the port that the kernel has chosen for this process."""
    address, port = unknown("address", call.site), unknown("port", call.site, tags=Tag.UNIQUE)
    return of_object(Items((address, port)), "name", call.site) if not call.given else None


def _first_rank(call: MethodCall) -> Value | None:
    return FIRST_RANK if framework_objects.is_first_rank(call.receiver, call.name) else None


def _rank(call: MethodCall) -> Value | None:
    """A group or mesh in the arguments asks for a rank in it, which is another number."""
    return framework_objects.rank_method(call.receiver, call.name) if not call.given else None


def _backward(call: MethodCall) -> Value | None:
    """`backward` of a value that a wrapped model computed averages the gradients."""
    tags = call.receiver.tags
    if not tags & Tag.DDP or "no_sync" in call.frame.withs:
        return None
    op = fsdp.BACKWARD if tags & Tag.SHARDED else "backward (DDP)"
    call.frame.out.append(Op(op, averaging(call.machine, call.frame, tags), call.site))
    return NONE


def _moved(call: MethodCall) -> Value | None:
    """A module of the project that is moved, or set to training mode: the module itself."""
    obj = call.receiver.object
    if not isinstance(obj, Instance) or not modes.has_mode(call.machine, obj):
        return None
    modes.changed(call, call.receiver)
    return call.receiver


def _with_fields(call: MethodCall) -> Value | None:
    """`options._replace(url=url)` of a NamedTuple of the project: another one, with these fields."""
    obj = call.receiver.object
    if not isinstance(obj, Instance) or not is_tuple(obj.info) or call.args:
        return None
    changed = dict(call.keywords)
    # the new fields come first, and what was given by position is named
    fields = [name for name in bases.field_names(call.machine, obj.info) if name not in changed]
    kept = [(name, value) for name in fields if (value := bases.given_field(call.machine, obj, name)) is not None]
    made = replace(obj, site=call.site, args=(), keywords=(*call.keywords, *kept))
    return of_object(made, "_replace", call.site, symbol_key(call.receiver))


def _formatted(call: MethodCall) -> Value | None:
    """`"cuda:{}".format(rank)`, like an f-string."""
    text, names = call.receiver.constant, [name for name, _ in call.keywords]
    starred = any(isinstance(argument, ast.Starred) for argument in call.node.args) or not all(names)
    if not isinstance(text, str) or not call.given or starred or not _is_short(text):
        return None
    count = len(call.args)

    def fill(*given: object) -> str:
        return text.format(*given[:count], **dict(zip(names, given[count:], strict=True)))

    kept = ANY_RANK | Tag.SPAWNED | Tag.RANK_BY_NAME | DRAWN_UP | OF_BATCH | Tag.EXAMPLE
    shown = (*call.given, *_attributes_shown(call, text))
    tags = of_all_parts(value.tags for value in shown) & kept
    literal = any(before for before, *_ in _pieces(text))
    return lift(f"format {text}", fill, call.given).with_tags(tags | (Tag.FILLED if literal else NO_TAGS))


def _attributes_shown(call: MethodCall, text: str) -> Iterator[Value]:
    """What a pattern such as `"{meter.avg:.3f}"` shows of an object."""
    keywords = dict(call.keywords)
    for _, place, _, _ in _pieces(text):
        name, _, attribute = (place or "").partition(".")
        given = call.args[int(name)] if name.isdecimal() and int(name) < len(call.args) else keywords.get(name)
        key = symbol_key(given) if given is not None else None
        stored = call.machine.heap.get((key, attribute)) if key is not None else None
        if stored is not None:
            yield stored


def _pieces(text: str) -> Iterable[tuple[str, str | None, str | None, str | None]]:
    """The texts of a pattern, each with the place that follows it. Raises ValueError if it is none."""
    from string import Formatter  # what few files need, and takes a hundredth of the time of one

    return Formatter().parse(text)


#: characters of a format of one place, such as `:05d`: a longer one could ask for a text of any length
_WIDTH = 4


def _is_short(text: str) -> bool:
    """Whether a pattern is one, and fills in texts of about their own length."""
    try:
        return all(len(spec or "") <= _WIDTH for _, _, spec, _ in _pieces(text))
    except ValueError:
        return False


def _collected(call: MethodCall) -> None:
    """The list, or the metric, now holds data of each rank. Its length stays equal; values computed from it differ."""
    owner = call.node.func.value if isinstance(call.node.func, ast.Attribute) else None
    own = union(given.tags for given in call.given if given.taint is Taint.RANK_LOCAL)
    if own & Tag.BATCH and isinstance(owner, ast.Name):
        known = call.frame.env.get(owner.id)
        if known is not None:
            call.frame.env[owner.id] = known.tagged(Tag.COLLECTED | own & Tag.EVALUATED)


def _share(call: MethodCall) -> Value | None:
    """A rank's own rows of a data set: `rows.shard(world, rank)`, whose lengths differ by one (datasets 4.0,
    Dataset.shard), and `rows.select(range(rank, len(rows), world))`."""
    if call.name == "select":
        picked = call.argument(0, "indices")
        tags = picked.tags & (Tag.SHARD | Tag.BLOCK) if picked is not None else NO_TAGS
    else:
        number, index = call.argument(0, "num_shards"), call.argument(1, "index")
        of_ranks = number is not None and index is not None and number.tags & Tag.WORLD and index.tags & Tag.RANK
        tags = Tag.SHARD if of_ranks else NO_TAGS
    if not tags:
        return None
    return unknown("share", call.site, taint=Taint.RANK_LOCAL, tags=tags).with_object(_by_method(call))


def _joined(call: MethodCall) -> Value | None:
    """`"-".join(parts)`: a text that holds what its parts hold, such as a rank or a moment."""
    parts = call.args[0].object if len(call.args) == 1 else None
    if not isinstance(call.receiver.constant, str) or not isinstance(parts, Items):
        return None
    tags = union(part.tags for part in parts.items) & (DATA | ANY_RANK | MADE_UP)
    alike = all(part.taint <= Taint.GIVEN for part in parts.items)
    key = (call.receiver.atoms, *(part.atoms for part in parts.items))
    return unknown("join", *key, taint=Taint.GIVEN if alike else Taint.UNKNOWN, tags=tags)


#: methods that give what is in their object as it is, or the same in another form
_SHOWING = vocabulary.KEEPING_ORDER | {"get", "cpu", "item", "tolist", "numpy", "strip"}


def _computed(call: MethodCall) -> Value | None:
    """The result of a method that depends only on its object and arguments."""
    method, receiver = call.name, call.receiver
    whole = method == "__call__"
    of_data = whole and (isinstance(receiver.object, Made) or receiver.tags & Tag.PREPARED)
    if not of_data and method not in vocabulary.PURE_METHODS:
        return None
    values = (receiver, *(call.given if whole else call.args))
    local = any(v.taint is Taint.RANK_LOCAL for v in values)
    if method in vocabulary.EXTENTS and not _differs_in_size(call):
        local = False
    tags = union(v.tags for v in values) & DATA
    if local and not whole:
        # methods of data give something, but for the one that asks for a part of it
        tags |= Tag.PART if method == "get" else Tag.GIVEN
    tags = _without_lost(method, tags)
    if method in vocabulary.KEEPING_ORDER:
        tags |= receiver.tags & (OF_ALL | (Tag.AGAINST_ALL if method not in vocabulary.TURNING else NO_TAGS))
    if method in _SHOWING:
        tags |= receiver.tags & Tag.EXAMPLE
    tags |= _of_elements(method, local=local)
    taint = Taint.RANK_LOCAL if local else Taint.UNKNOWN
    alike = receiver.taint is Taint.GIVEN and all(v.taint <= Taint.GIVEN for v in values)
    if not local and (alike or receiver.taint is Taint.UNIFORM):
        taint = receiver.taint
    site = call.site if call.args or whole else 0
    return unknown(method, receiver.atoms, site, taint=taint, tags=tags).with_object(_way_of(call))


def _way_of(call: MethodCall) -> Made | Method:
    """How the result came about; of a tokenizer with its settings, which say how long the texts are."""
    if call.name == "__call__" and any(name == "padding" for name, _ in call.keywords):
        return Made("?.__call__", call.site, (call.receiver, *call.args), call.keywords, call.node)
    return Method(call.receiver, call.name)


def _of_elements(method: str, *, local: bool) -> Tags:
    """Whether a method of data picks elements out of it, or tells of each of them whether something holds."""
    if method in vocabulary.PICKING:
        return Tag.UNEVEN
    return Tag.MASK if local and method in vocabulary.MASKING else NO_TAGS


def _generated(call: MethodCall) -> Value | None:
    """What a network or a tokenizer makes of data of this rank: texts, and the tokens of texts."""
    own = [value.tags for value in call.given if value.taint is Taint.RANK_LOCAL and value.tags & Tag.BATCH]
    if not own:
        return None
    tags = union(own) & (REASONS | (ORIGIN if call.name in vocabulary.CODING else NO_TAGS)) | Tag.GIVEN
    # a network that encodes or decodes may compute a loss as well
    tags |= Tag.EXAMPLE if call.name in vocabulary.GENERATING else NO_TAGS
    tags |= union(own) & Tag.EXAMPLE if call.name == "decode" else NO_TAGS
    return unknown("generated", call.site, taint=Taint.RANK_LOCAL, tags=tags).with_object(_by_method(call))


def _differs_in_size(call: MethodCall) -> bool:
    """Whether the size that is asked for is as the rank's own data decides: any of a sample, the first of data that was
    picked out."""
    if call.receiver.tags & SAMPLES:
        return call.name in vocabulary.SIZES
    first = not call.args or not isinstance(call.args[0].constant, int) or call.args[0].constant == 0
    return bool(call.receiver.tags & UNEQUAL) and first


def _framework(call: MethodCall, made: Made) -> Value | None:
    spec = framework_objects.collective(made.path, call.name, call.keywords, made)
    if spec is None or (spec.op == "state_dict (FSDP)" and _is_at_hand(call)):
        return None
    return enter_method(call.frame, spec, call.site)


def _is_at_hand(call: MethodCall) -> bool:
    """Whether the state of a sharded model needs no other rank: each takes its part, or all parts are there already."""
    return "LOCAL_STATE_DICT" in call.frame.module.words or "summon_full_params" in call.frame.withs


def _environment(call: MethodCall, made: Made) -> Value | None:
    return variable(call.args) if made.path == "os.environ" else None


#: methods of the parsers of transformers and trl, which give an object of each class that they were made with
_INTO_CLASSES = frozenset({"parse_args_into_dataclasses", "parse_args_and_config"})


def _options(call: MethodCall, made: Made) -> Value | None:
    if call.name in _INTO_CLASSES:
        return framework_objects.parsed(call.machine, made.args[0], call.site) if made.args else None
    return _parsed(call) if made.path.endswith("ArgumentParser") else None


def _parsed(call: MethodCall) -> Value | None:
    """The result of a command-line parser, whoever created the parser."""
    if isinstance(call.receiver.object, Instance):
        return None
    namespace = of_object(Namespace(call.site), call.site)
    return namespace if call.name != "parse_known_args" else of_object(Items((namespace, unknown("rest", call.site))))


def _wrapped_forward(call: MethodCall, made: Made) -> Value | None:
    """The forward of a wrapped network."""
    if made.path not in collectives.WRAPPERS and made.path not in frameworks.FORWARDING:
        return None
    _forward_of_network(call, made)
    return _forwarded(call)


def _forwarded(call: MethodCall) -> Value:
    """What a wrapped network gives of a batch."""
    tags = Tag.DDP | (call.receiver.tags & Tag.OF_GROUP) | union(v.tags for v in call.given) & DATA
    local = any(v.taint is Taint.RANK_LOCAL for v in call.given)
    if not local and batches.trained_on(call.frame, call.given):
        local, tags = True, tags | Tag.BATCH
    return unknown("forward", call.site, taint=Taint.RANK_LOCAL if local else Taint.UNKNOWN, tags=tags)


def _conditional_forward(call: MethodCall) -> Value | None:
    """The forward of a network that is wrapped where there are several ranks: `if distributed: net = DDP(net)`."""
    receiver = call.receiver
    return _forwarded(call) if receiver.object is None and receiver.tags & MODEL == Tag.WRAPPED else None


def _inner_forward(call: MethodCall) -> Value | None:
    """What the network inside a wrapper gives of this rank's data: `net = model.module`, then `net(images)`."""
    if not wrapping.is_wrapped(call.receiver) or all(v.taint is not Taint.RANK_LOCAL for v in call.given):
        return None
    tags = union(v.tags for v in call.given) & DATA
    return unknown("inner", call.site, taint=Taint.RANK_LOCAL, tags=tags).with_object(_by_method(call))


#: words of a file in which networks meet those of other ranks, also by functions of other files
_MEETING = frozenset({*collectives.NAMES, "get_rank", "get_world_size"})


def _forward_of_network(call: MethodCall, wrapper: Made) -> None:
    """The collectives in the forward of a wrapped network of the project."""
    network = wrapper.argument(0, "module")
    if network is None or not isinstance(network.object, Instance):
        return
    method = find_method(call.machine, network.object.info, "forward")
    if method is not None and method.module.words & _MEETING:
        call.machine.follow(call.frame, Function(method, network), Given(call.args, call.keywords, call.site))


def _prepared(call: MethodCall, made: Made) -> Value | None:
    """What a framework returns prepared; and the rest of a prepared loader, which is one."""
    if frameworks.kind(made.path) == frameworks.ACCELERATOR and call.name == "skip_first_batches" and call.args:
        return call.args[0]
    if (frameworks.kind(made.path), call.name) not in frameworks.PREPARING:
        return None
    prepared = tuple(a.tagged(Tag.PREPARED) for a in call.args)
    if call.name in frameworks.PREPARING_LOADERS:
        # whatever gave it: `data.val_dataloader()`
        prepared = tuple(a.with_object(None) if isinstance(a.object, Made) and a.object.path[:1] == "?" else a
                         for a in prepared)  # fmt: skip
    return prepared[0] if len(prepared) == 1 else of_object(Items(prepared), "prepared", call.site)


def _unwrapped(call: MethodCall, made: Made) -> Value | None:
    """The network of the project in what Accelerate has prepared, with its own methods."""
    network = call.args[0] if call.args else None
    if frameworks.kind(made.path) != frameworks.ACCELERATOR or network is None:
        return None
    known = isinstance(network.object, Instance) and network.tags & Tag.PREPARED
    return network.with_tags(network.tags & ~Tag.PREPARED | Tag.INNER) if known else None


def _starts(call: MethodCall, made: Made) -> None:
    """`Parallel.run(function, ...)`: its result is unknown."""
    if made.path == frameworks.PARALLEL and call.args:
        start(call.machine, call.frame, call.args[0], [SPAWNED, *call.args[1:]], call.site)


_RUN = Collective("run (ignite, its metrics are reduced)")


def _evaluated(call: MethodCall, made: Made) -> Value | None:
    """`evaluator.run(loader)`: when the engine has come to its end, its metrics are reduced over all ranks."""
    place = frameworks.EVALUATORS.get(made.path)
    if place is None:
        return None
    given = made.argument(*place)
    held = given.object if given is not None else None
    metrics = [value for _, value in held.entries] if isinstance(held, Table) else []
    # `Accuracy().attach(evaluator, "accuracy")`
    metrics += [
        event.receiver for event in call.machine.calls
        if event.method == "attach" and event.receiver is not None and event.args and event.args[0].object == made
    ]  # fmt: skip
    reduced = any(isinstance(m.object, Made) and m.object.path in frameworks.REDUCED_METRICS for m in metrics)
    return enter_method(call.frame, _RUN, call.site) if reduced else None


_COMPUTE = Collective("compute (torchmetrics)", returns_uniform=True)


def _reduced(call: MethodCall, made: Made) -> Value | None:
    """`metric.compute()` of torchmetrics, which gathers what all ranks have; what it gave is kept until the next update
    (torchmetrics 1.8, `Metric._wrap_compute`)."""
    head, _, name = made.path.rpartition(".")
    alone = made.keyword("sync_on_compute")
    is_metric = head.partition(".")[0] == "torchmetrics" and name[:1].isupper() and not made.opaque
    if not is_metric or (alone is not None and alone.constant is not True):
        return None
    kept = any(
        event.method == "compute" and not event.context.some_ranks_only and event.receiver is not None
        and event.receiver.object == made
        for event in call.machine.calls
    )  # fmt: skip
    return None if kept else enter_method(call.frame, _COMPUTE, call.site)


def _metric(call: MethodCall, made: Made) -> Value | None:
    """What a metric of Hugging Face's gives of the data that this rank has added, or hands to it."""
    if made.path not in vocabulary.METRICS or made.keyword("num_process") is not None:
        return None
    own = any(value.taint is Taint.RANK_LOCAL or value.tags & Tag.COLLECTED for value in call.given)
    if not own and not call.receiver.tags & Tag.COLLECTED:
        return None
    given = union(value.tags for value in (call.receiver, *call.given))
    return unknown("metric", call.site, taint=Taint.RANK_LOCAL, tags=Tag.BATCH | given & Tag.EVALUATED)


def _moved_object(call: MethodCall, made: Made) -> Value | None:
    """A module or similar object, whose `.to()` and `.eval()` return itself."""
    if made.path in collectives.WRAPPERS and made.args:
        modes.changed(call, made.args[0])
    return call.receiver if made.is_truthy else None


def _any(_name: str) -> bool:
    return True


#: Tried in this order; the first that gives a value decides. With the names that each handles.
RESOLVERS: tuple[tuple[Callable[[MethodCall], Value | None], Collection[str] | Callable[[str], bool]], ...] = (
    (_sharded_forward, ("__call__",)),
    (_made, _any),
    (_conditional_forward, ("__call__",)),
    (_inner_forward, ("module",)),
    (meshes.method, meshes.METHODS),
    (_parsed, vocabulary.PARSING),
    (_signalled, signals.ASKING),
    (_of_base, ("__iter__",)),
    (_port, ("getsockname",)),
    (_files, file_effects.concerns_method),
    (_random, {"manual_seed", "seed", *randomness.DRAW_METHODS, *randomness.SAMPLING}),
    (environments.method, ("reset", "step")),
    (_collective, _any),
    (_first_rank, {"__call__", *frameworks.FIRST_RANK_METHODS}),
    (_rank, frameworks.RANK_METHODS),
    (_backward, ("backward",)),
    (_formatted, ("format",)),
    (_moved, _MOVING),
    (_with_fields, ("_replace",)),
    (_collected, ("append", "extend", "add_batch")),
    (_joined, ("join",)),
    (_share, ("select", "shard")),
    (_generated, vocabulary.GENERATING | vocabulary.CODING),
    (_computed, {"__call__", *vocabulary.PURE_METHODS}),
)
#: for methods of an external constructor's result
RESOLVERS_OF_MADE: tuple[tuple[Callable[[MethodCall, Made], Value | None], Collection[str]], ...] = (
    (_framework, {"log", "log_dict", *(name for methods in frameworks.METHODS.values() for name in methods)}),
    (_environment, ("get",)),
    (_options, {*_INTO_CLASSES, *vocabulary.PARSING}),
    (_wrapped_forward, ("__call__",)),
    (_prepared, {"skip_first_batches", *(name for _, name in frameworks.PREPARING)}),
    (_unwrapped, ("unwrap_model",)),
    (_starts, ("run",)),
    (_evaluated, ("run",)),
    (_reduced, ("compute",)),
    (_metric, ("compute",)),
    (_moved_object, _MOVING),
)


@lru_cache(maxsize=1 << 12)
def _resolvers(name: str) -> tuple[Callable[[MethodCall], Value | None], ...]:
    return tuple(resolve for resolve, known in RESOLVERS if (known(name) if callable(known) else name in known))


@lru_cache(maxsize=1 << 12)
def _resolvers_of_made(name: str) -> tuple[Callable[[MethodCall, Made], Value | None], ...]:
    return tuple(resolve for resolve, known in RESOLVERS_OF_MADE if name in known)
