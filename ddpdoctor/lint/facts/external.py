"""Calls of things outside the project: collectives, rank sources, constructors, pure functions, the unknown."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from ddpdoctor.lint.facts import dice, disk, filling, frameworks, vocabulary, wrapping
from ddpdoctor.lint.facts.frame import Frame
from ddpdoctor.lint.facts.things import GroupOf, Instance, Items, Made, Method, Namespace, Site
from ddpdoctor.lint.facts.trace import Exit, Op
from ddpdoctor.lint.facts.values import (
    LOCAL_RANK_NUMBERS,
    NONE,
    ORIGIN,
    RANK_NUMBERS,
    REASONS,
    TRUE,
    WORLD,
    WORLD_NUMBER,
    Symbol,
    Taint,
    Value,
    const,
    join_tags,
    lift,
    of_thing,
    per_rank,
    unknown,
)
from ddpdoctor.lint.facts.vocabulary import Collective

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis

Keywords = tuple[tuple[str, Value], ...]

_DATA = ORIGIN | REASONS | {"unique", "local-choice", "block", "own-file"}
#: what they give has no gradients
_DETACHING = frozenset({"detach", "item", "tolist", "numpy", "argmax"})
#: calls of unknown objects through which gradients flow: a criterion, a module, a gradient scaler
_DIFFERENTIABLE = frozenset({"__call__", "forward", "module", "scale"})
#: a name that each process makes up for itself
_OWN = frozenset({"time", "unique"})
_FIRST = per_rank((True, False, False, False), frozenset({"rank"}))
_SPAWNED = RANK_NUMBERS.tagged("spawned")
#: one number, or one tensor, of a list of them
_SUMMARIES = frozenset({
    "builtins.sum", "builtins.min", "builtins.max", "numpy.mean", "numpy.average", "numpy.sum", "numpy.nanmean",
    "numpy.median", "numpy.array", "statistics.mean", "statistics.fmean", "torch.stack", "torch.cat", "torch.tensor",
    "torch.mean", "torch.sum",
})  # fmt: skip
#: what they give differs between ranks where what they are given does
_OF_VALUES = frozenset(
    f"torch.{name}" for name in (
        "tensor", "as_tensor", "full", "sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "abs", "where", "stack",
        "cat", "mean", "sum", "max", "min", "clamp", "pow", "roll", "linspace", "sigmoid", "add", "mul",
    )
)  # fmt: skip
_EXITS = frozenset({"sys.exit", "os._exit", "builtins.exit", "builtins.quit", "os.abort"})
_CASTS: dict[str, Callable[..., object]] = {
    "builtins.int": int, "builtins.str": str, "builtins.bool": bool, "builtins.abs": abs,
    "builtins.len": len, "builtins.min": min, "builtins.max": max, "builtins.float": float,
}  # fmt: skip


def result(
    analysis: Analysis, frame: Frame, path: str, method: str, receiver: Value | None, args: tuple[Value, ...],
    keywords: Keywords, site: Site, node: ast.Call,
) -> Value:  # fmt: skip
    """What the call gives; emits a collective into the trace where it is one."""
    if path:
        return _function(analysis, frame, path, args, keywords, site, node)
    assert receiver is not None
    return _method(analysis, frame, method, receiver, args, keywords, site, node)


def _function(
    analysis: Analysis, frame: Frame, path: str, args: tuple[Value, ...], keywords: Keywords, site: Site,
    node: ast.Call,
) -> Value:  # fmt: skip
    collective = vocabulary.COLLECTIVES.get(path)
    if collective is not None:
        if path in vocabulary.WRAPPERS:
            module = args or tuple(v for k, v in keywords if k == "module")
            wrapping.remember(analysis, frame, module, node, site)
        return _collective(frame, path, collective, args, keywords, site, node)
    source = _source(path, args, keywords)
    if source is None:
        source = disk.function(frame, path, args, keywords, site)
    if source is not None:
        return source
    if path in _EXITS:
        frame.out.append(Exit("raise", site))
        frame.mask = 0
        return NONE
    if path in _CASTS and args and not keywords:
        return _cast(path, args, site)
    if path in ("builtins.hasattr", "builtins.isinstance", "builtins.getattr"):
        tested = wrapping.tested(analysis, frame, path, args, node)
        if tested is not None:
            return tested
    if path == "builtins.dict" and (keywords or args):
        return filling.table(args, keywords, site)
    _started(analysis, frame, path, args, keywords)
    if path in ("mmengine.dist.get_dist_info", "mmcv.runner.get_dist_info") and not args and not keywords:
        return of_thing(Items((RANK_NUMBERS, WORLD_NUMBER)), path)
    if path == "deepspeed.initialize":
        frame.out.append(Op("deepspeed.initialize", None, site))
        return _deepspeed(args, keywords, site, node)
    return dice.called(analysis, frame, path, args, keywords, _made(path, args, keywords, site, node))


def _deepspeed(args: tuple[Value, ...], keywords: Keywords, site: Site, node: ast.Call) -> Value:
    """(engine, optimizer, loader, scheduler)"""
    engine = of_thing(Made(vocabulary.ENGINE, site, args, keywords, node), vocabulary.ENGINE, site)
    rest = (unknown("deepspeed", site, name) for name in ("optimizer", "loader", "scheduler"))
    return of_thing(Items((engine, *rest)), "deepspeed.initialize", site)


def _source(path: str, args: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """Ranks, world sizes, clocks, the environment."""
    whole = not args and not keywords
    if path in vocabulary.RANK_CALLS:
        none = len(args) == 1 and args[0].known and args[0].constant is None
        return RANK_NUMBERS if whole or none else unknown("group rank", path, args, taint=Taint.RANK)
    if path in vocabulary.LOCAL_RANK_CALLS:
        return LOCAL_RANK_NUMBERS
    if path in vocabulary.WORLD_CALLS:
        return WORLD_NUMBER if whole else unknown("group size", path, args)
    if path in vocabulary.FIRST_RANK_CALLS:
        return _FIRST
    if path in vocabulary.INITIALISED_CALLS:
        return TRUE
    if path in vocabulary.CLOCK_CALLS:
        return unknown("clock", path, taint=Taint.RANK_LOCAL, tags=frozenset({"time"}))
    if path in ("os.environ.get", "os.getenv"):
        return _environment(args)
    return None


def _environment(args: tuple[Value, ...]) -> Value | None:
    from ddpdoctor.lint.facts.names import environment

    name = args[0].constant if args else None
    return environment(name) or unknown("environ", str(name))


def _cast(path: str, args: tuple[Value, ...], site: Site) -> Value:
    if path == "builtins.len" and not args[0].known:
        if isinstance(args[0].thing, Items):
            return const(len(args[0].thing.items))
        tags = (args[0].tags & _DATA) | {"length"}
        taint = Taint.RANK_LOCAL if args[0].taint is Taint.RANK_LOCAL else Taint.UNKNOWN
        return unknown("len", args[0].atoms, taint=taint, tags=tags)
    if any(a.thing is not None for a in args):
        taint = Taint.RANK_LOCAL if any(a.taint is Taint.RANK_LOCAL for a in args) else Taint.UNKNOWN
        return unknown(path, site, taint=taint, tags=join_tags(args) & _DATA)
    return lift(path, _CASTS[path], args)


def _made(path: str, args: tuple[Value, ...], keywords: Keywords, site: Site, node: ast.Call) -> Value:
    values = (*args, *(v for _, v in keywords))
    tags: frozenset[str] = frozenset()
    for value in values:
        tags |= value.tags
    pure = path.startswith(vocabulary.PURE_PREFIXES)
    # what kind of thing data is, is the same on all ranks
    pure = pure and path not in ("builtins.isinstance", "builtins.hasattr", "builtins.type", "builtins.callable")
    taint = Taint.RANK_LOCAL if pure and any(v.taint is Taint.RANK_LOCAL for v in values) else Taint.UNKNOWN
    kept = tags & _DATA if pure else tags & ORIGIN
    if path in _SUMMARIES and "collected" in tags:
        taint, kept = Taint.RANK_LOCAL, kept | {"batch"}
    if path in ("torch.initial_seed", "torch.seed"):
        kept |= {"seeded"}
    if path in ("math.ceil", "numpy.ceil"):
        kept |= {"ceil"}
    if path in vocabulary.UNIQUE_CALLS:
        kept |= {"unique"}
    if path in ("os.path.join", "pathlib.Path", "builtins.str"):
        kept |= tags & frozenset({"time", "unique", "rank", "local_rank"})
    if path in ("builtins.range", "numpy.arange", "torch.arange") and _strided(args, node):
        taint, kept = Taint.RANK_LOCAL, kept | {"shard"}
    if path in _OF_VALUES and any(v.taint is Taint.RANK and v.thing is None for v in args):
        taint, kept = Taint.RANK_LOCAL, kept | {"own"}
    if path == "argparse.ArgumentParser.parse_args":
        return of_thing(Namespace(site), site)
    if path == "torch.tensor" and values:
        taint = max((v.taint for v in values[:1] if v.taint is Taint.RANK_LOCAL), default=taint)
    value = of_thing(Made(path, site, args, keywords, node), path, site)
    return value._replace(taint=taint, tags=kept, atoms=(value.atoms[0]._replace(taint=taint),))


def _strided(args: tuple[Value, ...], node: ast.Call) -> bool:
    """`range(rank, len(data), world)`, or up to less of it on some ranks: they get more or fewer elements."""
    if len(args) != 3 or "rank" not in args[0].tags or "world" not in args[2].tags:
        return False
    less = len(node.args) == 3 and isinstance(node.args[1], ast.BinOp) and isinstance(node.args[1].op, ast.Sub)
    return "length" in args[1].tags or (less and "rank" in args[1].tags)


def group_members(group: Value | None) -> tuple[int, ...] | str | None:
    """Members of a group argument: None for the default group, "unknown" where they cannot be told."""
    if group is None or (group.known and group.constant is None):
        return None
    if isinstance(group.thing, GroupOf):
        return group.thing.members if group.thing.members is not None else "unknown"
    return "unknown"


def _collective(
    frame: Frame, path: str, spec: Collective, args: tuple[Value, ...], keywords: Keywords, site: Site, node: ast.Call
) -> Value:
    group = next((v for k, v in keywords if k in ("group", "process_group")), None)
    if group is None and 0 <= spec.group < len(args):
        group = args[spec.group]
    members = group_members(group)
    if any(k in ("*", "**") for k, _ in keywords) and group is None:
        members = "unknown"
    if not spec.pairwise and not isinstance(members, str):
        if spec.op == "new_group" and _synchronises_locally(keywords):
            pass
        elif any(k == "no_dist" and v.constant is not False for k, v in keywords):
            pass  # a checkpoint that each process saves by itself
        else:
            frame.out.append(Op(spec.op, members, site))
    if isinstance(members, (tuple, type(None))):
        for position, name in spec.overwrites:
            _overwrite_argument(frame, node, position, name)
    if spec.op == "new_group":
        return _new_group(path, args, keywords, site)
    if path in vocabulary.WRAPPERS:
        value = _made(path, args, keywords, site, node)
        return value.tagged("ddp", "wrapped")
    if spec.returns_uniform and members is None:
        return Value((unknown("result", site, id(node)).atoms[0]._replace(taint=Taint.UNIFORM),), Taint.UNIFORM)
    return _made(path, args, keywords, site, node)._replace(tags=frozenset())


def _synchronises_locally(keywords: Keywords) -> bool:
    return any(k == "use_local_synchronization" and v.constant is not False for k, v in keywords)


def _new_group(path: str, args: tuple[Value, ...], keywords: Keywords, site: Site) -> Value:
    ranks = args[0] if args else next((v for k, v in keywords if k == "ranks"), None)
    if ranks is None or (ranks.known and ranks.constant is None):
        return of_thing(GroupOf(tuple(range(WORLD))) if path.endswith(".new_group") else GroupOf(None), site)
    members: tuple[int, ...] | None = None
    items = ranks.thing.items if isinstance(ranks.thing, Items) else None
    if items is not None and all(isinstance(i.constant, int) for i in items):
        members = tuple(i.constant for i in items)
    return of_thing(GroupOf(members), site)


def _overwrite_argument(frame: Frame, node: ast.Call, position: int, name: str) -> None:
    argument = node.args[position] if position < len(node.args) else None
    if argument is None:
        argument = next((k.value for k in node.keywords if k.arg == name), None)
    if argument is not None:
        overwrite(frame, argument)


def overwrite(frame: Frame, argument: ast.expr) -> None:
    """After a collective the variable holds the same on every rank."""
    if isinstance(argument, (ast.List, ast.Tuple)):
        for element in argument.elts:
            overwrite(frame, element)
    if isinstance(argument, ast.Attribute) and isinstance(argument.value, ast.Name):
        owner = frame.env.get(argument.value.id)
        atom = owner.atoms[0] if owner is not None and len(owner.atoms) == 1 else None
        if isinstance(atom, Symbol):
            frame.stores[(atom.key, argument.attr)] = unknown("reduced", id(argument), taint=Taint.UNIFORM)
    if isinstance(argument, ast.Name):
        symbol = unknown("reduced", id(argument), taint=Taint.UNIFORM)
        before = frame.env.get(argument.id)
        tags = before.tags & ORIGIN if before is not None else frozenset()
        frame.env[argument.id] = symbol._replace(tags=tags)
        if frame.function is not None and any(p.arg == argument.id for p in frame.function.parameters):
            frame.resets.add(argument.id)


def _method(
    analysis: Analysis, frame: Frame, method: str, receiver: Value, args: tuple[Value, ...], keywords: Keywords,
    site: Site, node: ast.Call,
) -> Value:  # fmt: skip
    thing = receiver.thing
    if isinstance(thing, Made):
        known = _made_method(analysis, frame, method, receiver, thing, args, keywords, site, node)
        if known is not None:
            return known
    found = disk.method(frame, method, receiver, args, site) or dice.method(receiver, method, args)
    spec = vocabulary.DUCK_METHODS.get(method)
    if isinstance(thing, Instance):
        spec = frameworks.inherited(analysis, thing.info, method, keywords) or spec
    if spec is not None:
        return _performed(frame, spec, site)
    if found is not None or frameworks.is_first_rank(receiver, method):
        return found or _FIRST
    if method == "backward" and "ddp" in receiver.tags and "no_sync" not in frame.withs:
        frame.out.append(Op("backward (DDP)", None, site))
        return NONE
    values = (receiver, *args)
    if method == "append" and args and args[0].taint is Taint.RANK_LOCAL and "batch" in args[0].tags:
        _collect(frame, node)
    if method in vocabulary.PURE_METHODS or (method == "__call__" and isinstance(thing, Made)):
        local = any(v.taint is Taint.RANK_LOCAL for v in values)
        tags: frozenset[str] = frozenset()
        for value in values:
            tags |= value.tags & _DATA
        taint = Taint.RANK_LOCAL if local else receiver.taint if receiver.taint is Taint.UNIFORM else Taint.UNKNOWN
        if method in _DETACHING:
            tags -= {"bypass"}
        key = (method, receiver.atoms, site if args or method == "__call__" else 0)
        return unknown(*key, taint=taint, tags=tags)._replace(thing=Method(receiver, method))
    origin = receiver.tags if method != "module" else frozenset()
    if method in _DIFFERENTIABLE:
        origin = origin.union(*(v.tags for v in (*args, *(v for _, v in keywords))))
    return unknown("method", site, tags=(origin & ORIGIN) | (receiver.tags & _OWN))._replace(
        thing=Made(f"?.{method}", site, (receiver, *args), keywords, node)
    )


def _collect(frame: Frame, node: ast.Call) -> None:
    """A list now holds data of each rank. How long it is says nothing, what is computed from it does."""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    known = frame.env.get(owner.id) if isinstance(owner, ast.Name) else None
    if known is not None and isinstance(owner, ast.Name):
        frame.env[owner.id] = known.tagged("collected")


def _made_method(
    analysis: Analysis, frame: Frame, method: str, receiver: Value, thing: Made, args: tuple[Value, ...],
    keywords: Keywords, site: Site, node: ast.Call,
) -> Value | None:  # fmt: skip
    spec = frameworks.collective(thing.path, method, keywords, thing)
    if spec is not None and not (spec.op == "state_dict (FSDP)" and "LOCAL_STATE_DICT" in frame.module.words):
        return _performed(frame, spec, site)
    if thing.path == "os.environ" and method == "get":
        return _environment(args)
    if thing.path.endswith("ArgumentParser") and method in ("parse_args", "parse_known_args"):
        namespace = of_thing(Namespace(site), site)
        return namespace if method == "parse_args" else of_thing(Items((namespace, unknown("rest", site))))
    if method == "__call__" and (thing.path in vocabulary.WRAPPERS or thing.path in frameworks.FORWARDING):
        local = any(v.taint is Taint.RANK_LOCAL for v in args)
        tags = frozenset({"ddp"}) | frozenset(t for v in args for t in v.tags & _DATA)
        return unknown("forward", site, taint=Taint.RANK_LOCAL if local else Taint.UNKNOWN, tags=tags)
    if (frameworks.kind(thing.path), method) in frameworks.PREPARING:
        return _prepared(args, site)
    if thing.path == frameworks.PARALLEL and method == "run" and args:
        _start(analysis, frame, args[0], [_SPAWNED, *args[1:]])
    if method in ("to", "cuda", "cpu", "train", "eval", "float", "half", "double") and _is_object(thing):
        return receiver
    del analysis, keywords, node
    return None


def _is_object(thing: Made) -> bool:
    """A module or the like, whose `.to()` and `.eval()` give itself."""
    return thing.solid


def _prepared(args: tuple[Value, ...], site: Site) -> Value:
    prepared = tuple(a.tagged("prepared") for a in args)
    return prepared[0] if len(prepared) == 1 else of_thing(Items(prepared), "prepared", site)


def _performed(frame: Frame, spec: Collective, site: Site) -> Value:
    """A collective method of a framework's object; a backward under `no_sync` shares nothing."""
    if not (spec.op.startswith("backward") and frameworks.UNSHARED & set(frame.withs)):
        frame.out.append(Op(spec.op, None, site))
    return unknown("result", site, taint=Taint.UNIFORM if spec.returns_uniform else Taint.UNKNOWN)


def _started(analysis: Analysis, frame: Frame, path: str, args: tuple[Value, ...], keywords: Keywords) -> None:
    """Functions of the project that the call starts."""
    if path in frameworks.SPAWNING:
        _spawn(analysis, frame, frameworks.SPAWNING[path], args, keywords)
    elif path in frameworks.STARTING and args:
        _start(analysis, frame, args[0], [])
    elif path.endswith(".Process") and path.startswith(("torch.multiprocessing", "multiprocessing")):
        _process(analysis, frame, keywords)


def _spawn(
    analysis: Analysis, frame: Frame, places: tuple[int, int], args: tuple[Value, ...], keywords: Keywords
) -> None:
    named = dict(keywords)
    target = args[places[0]] if len(args) > places[0] else named.get("fn")
    given = args[places[1]] if len(args) > places[1] else named.get("args")
    if target is not None:
        _start(analysis, frame, target, [_SPAWNED, *_items(given)])


def _start(analysis: Analysis, frame: Frame, target: Value, args: list[Value]) -> None:
    """A function that something outside the project calls: in new processes, or with options as its arguments."""
    from ddpdoctor.lint.facts.calls import spawn

    spawn(analysis, frame, target, args)


def _items(given: Value | None) -> list[Value]:
    if given is None:
        return []
    if isinstance(given.thing, Items):
        return list(given.thing.items)
    return [const(c) for c in given.constant] if isinstance(given.constant, tuple) else []


def _process(analysis: Analysis, frame: Frame, keywords: Keywords) -> None:
    from ddpdoctor.lint.facts.calls import spawn

    target = next((v for k, v in keywords if k == "target"), None)
    args = _items(next((v for k, v in keywords if k == "args"), None))
    if target is not None:
        spawn(analysis, frame, target, [RANK_NUMBERS if "index" in a.tags else a for a in args])
