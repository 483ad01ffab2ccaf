"""Calls of things outside the project: whose business each is."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter import file_effects, fsdp, random_state, wrapping
from ddpdoctor.lint.interpreter.attributes import attribute
from ddpdoctor.lint.interpreter.collective_calls import enter_collective
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.methods import method_called
from ddpdoctor.lint.interpreter.results import CASTS, cast, made_by
from ddpdoctor.lint.interpreter.sources import source_of
from ddpdoctor.lint.interpreter.spawning import started
from ddpdoctor.lint.interpreter.trace import Exit, Op
from ddpdoctor.lint.knowledge import aliases, collectives
from ddpdoctor.lint.values import containers
from ddpdoctor.lint.values.abstract_objects import Class, External, Function, Instance, Items, LocalModule, Made
from ddpdoctor.lint.values.values import NONE, RANK_NUMBERS, WORLD_NUMBER, Keywords, Value, of_object, unknown
from ddpdoctor.program.sites import SourceSite

#: give back the network that they are given, or what stands for it in every way
_SAME = frozenset({
    "torch.compile", "torch.nn.SyncBatchNorm.convert_sync_batchnorm", "apex.parallel.convert_syncbn_model",
})  # fmt: skip
_LISTING = frozenset({"builtins.dict", "builtins.list", "builtins.tuple", "builtins.map"}) | _SAME
_EXITS = frozenset({"sys.exit", "os._exit", "builtins.exit", "builtins.quit", "os.abort"})


def result(
    machine: Machine, frame: Frame, path: str, method: str, receiver: Value | None, args: tuple[Value, ...],
    keywords: Keywords, site: SourceSite, node: ast.Call,
) -> Value:  # fmt: skip
    """What the call gives; emits a collective into the trace where it is one."""
    if path:
        return _function(machine, frame, path, args, keywords, site, node)
    assert receiver is not None
    return method_called(machine, frame, method, receiver, args, keywords, site, node)


def _function(
    machine: Machine, frame: Frame, path: str, args: tuple[Value, ...], keywords: Keywords, site: SourceSite,
    node: ast.Call,
) -> Value:  # fmt: skip
    collective = collectives.COLLECTIVES.get(path)
    if collective is not None:
        if path in collectives.WRAPPERS:
            module = args or tuple(v for k, v in keywords if k == "module")
            wrapping.remember(machine, frame, module, node, site)
        return enter_collective(frame, path, collective, args, keywords, site, node)
    source = source_of(path, args, keywords)
    if source is None:
        source = file_effects.function(frame, path, args, keywords, site)
    if source is not None:
        return source
    if path in _EXITS:
        frame.out.append(Exit("raise", site))
        frame.mask = 0
        return NONE
    if path in CASTS and args and not keywords:
        return cast(path, args, site)
    if path in ("builtins.hasattr", "builtins.isinstance", "builtins.getattr"):
        tested = wrapping.tested(machine, frame, path, args, node) or _read_by_name(machine, frame, path, args, node)
        if tested is not None:
            return tested
    listed = _listed(path, args, keywords, site) if path in _LISTING else None
    if listed is not None:
        return listed
    started(machine, frame, path, args, keywords, site)
    if path in ("mmengine.dist.get_dist_info", "mmcv.runner.get_dist_info") and not args and not keywords:
        return of_object(Items((RANK_NUMBERS, WORLD_NUMBER)), path)
    if path == "deepspeed.initialize":
        frame.out.append(Op("deepspeed.initialize", None, site))
        return _deepspeed(args, keywords, site, node)
    value = fsdp.made(machine, frame, path, args, node, made_by(path, args, keywords, site, node))
    return random_state.called(machine, frame, path, args, keywords, value)


def _read_by_name(machine: Machine, frame: Frame, path: str, args: tuple[Value, ...], node: ast.Call) -> Value | None:
    """`getattr(owner, "name")` of an object whose attributes are known, where it surely has this one."""
    if path != "builtins.getattr" or len(args) < 2:
        return None
    name, obj = args[1].constant, args[0].object
    if not isinstance(name, str) or not isinstance(obj, (Instance, LocalModule, Class, External)):
        return None
    value = attribute(machine, frame, args[0], name, node)
    if isinstance(obj, External):
        sure = len(args) == 2 or obj.path in collectives.COLLECTIVES
        return value if sure and isinstance(value.object, External) else None
    return value if value.known or isinstance(value.object, (Function, Instance, Class, Made)) else None


def _listed(path: str, args: tuple[Value, ...], keywords: Keywords, site: SourceSite) -> Value | None:
    """`dict(...)`, `list(items)`, `map(int, items)` element by element, and what is given back as it was."""
    if path in _SAME:
        return args[0] if args else None
    if path == "builtins.dict":
        return containers.table(args, keywords, site) if keywords or args else None
    obj = args[-1].object if args else None
    if not isinstance(obj, Items):
        return None
    if path != "builtins.map":
        return args[0]._replace(object=Items(obj.items)) if len(args) == 1 else None
    caster = args[0].object
    if len(args) != 2 or not isinstance(caster, External) or caster.path not in CASTS:
        return None
    return of_object(Items(tuple(cast(caster.path, (item,), site) for item in obj.items)), path, site)


def _deepspeed(args: tuple[Value, ...], keywords: Keywords, site: SourceSite, node: ast.Call) -> Value:
    """(engine, optimizer, loader, scheduler)"""
    engine = of_object(Made(aliases.ENGINE, site, args, keywords, node), aliases.ENGINE, site)
    rest = (unknown("deepspeed", site, name) for name in ("optimizer", "loader", "scheduler"))
    return of_object(Items((engine, *rest)), "deepspeed.initialize", site)
