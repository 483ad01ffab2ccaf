"""Calls of things outside the project: whose business each is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ddpdoctor.lint.facts import collective_table, dice, disk, filling, sharding, spellings, wrapping
from ddpdoctor.lint.facts.attributes import attribute
from ddpdoctor.lint.facts.collectives import enter_collective
from ddpdoctor.lint.facts.frame import Frame
from ddpdoctor.lint.facts.methods import method_called
from ddpdoctor.lint.facts.results import CASTS, cast, made_by
from ddpdoctor.lint.facts.sources import source_of
from ddpdoctor.lint.facts.spawning import started
from ddpdoctor.lint.facts.things import Class, External, Function, Instance, Items, LocalModule, Made, Site
from ddpdoctor.lint.facts.trace import Exit, Op
from ddpdoctor.lint.facts.values import (
    NONE,
    RANK_NUMBERS,
    WORLD_NUMBER,
    Keywords,
    Value,
    of_thing,
    unknown,
)

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis

#: give back the network that they are given, or what stands for it in every way
_SAME = frozenset({
    "torch.compile", "torch.nn.SyncBatchNorm.convert_sync_batchnorm", "apex.parallel.convert_syncbn_model",
})  # fmt: skip
_LISTING = frozenset({"builtins.dict", "builtins.list", "builtins.tuple", "builtins.map"}) | _SAME
_EXITS = frozenset({"sys.exit", "os._exit", "builtins.exit", "builtins.quit", "os.abort"})


def result(
    analysis: Analysis, frame: Frame, path: str, method: str, receiver: Value | None, args: tuple[Value, ...],
    keywords: Keywords, site: Site, node: ast.Call,
) -> Value:  # fmt: skip
    """What the call gives; emits a collective into the trace where it is one."""
    if path:
        return _function(analysis, frame, path, args, keywords, site, node)
    assert receiver is not None
    return method_called(analysis, frame, method, receiver, args, keywords, site, node)


def _function(
    analysis: Analysis, frame: Frame, path: str, args: tuple[Value, ...], keywords: Keywords, site: Site,
    node: ast.Call,
) -> Value:  # fmt: skip
    collective = collective_table.COLLECTIVES.get(path)
    if collective is not None:
        if path in collective_table.WRAPPERS:
            module = args or tuple(v for k, v in keywords if k == "module")
            wrapping.remember(analysis, frame, module, node, site)
        return enter_collective(frame, path, collective, args, keywords, site, node)
    source = source_of(path, args, keywords)
    if source is None:
        source = disk.function(frame, path, args, keywords, site)
    if source is not None:
        return source
    if path in _EXITS:
        frame.out.append(Exit("raise", site))
        frame.mask = 0
        return NONE
    if path in CASTS and args and not keywords:
        return cast(path, args, site)
    if path in ("builtins.hasattr", "builtins.isinstance", "builtins.getattr"):
        tested = wrapping.tested(analysis, frame, path, args, node) or _read_by_name(analysis, frame, path, args, node)
        if tested is not None:
            return tested
    listed = _listed(path, args, keywords, site) if path in _LISTING else None
    if listed is not None:
        return listed
    started(analysis, frame, path, args, keywords, site)
    if path in ("mmengine.dist.get_dist_info", "mmcv.runner.get_dist_info") and not args and not keywords:
        return of_thing(Items((RANK_NUMBERS, WORLD_NUMBER)), path)
    if path == "deepspeed.initialize":
        frame.out.append(Op("deepspeed.initialize", None, site))
        return _deepspeed(args, keywords, site, node)
    value = sharding.made(analysis, frame, path, args, node, made_by(path, args, keywords, site, node))
    return dice.called(analysis, frame, path, args, keywords, value)


def _read_by_name(analysis: Analysis, frame: Frame, path: str, args: tuple[Value, ...], node: ast.Call) -> Value | None:
    """`getattr(owner, "name")` of an object whose attributes are known, where it surely has this one."""
    if path != "builtins.getattr" or len(args) < 2:
        return None
    name, thing = args[1].constant, args[0].thing
    if not isinstance(name, str) or not isinstance(thing, (Instance, LocalModule, Class, External)):
        return None
    value = attribute(analysis, frame, args[0], name, node)
    if isinstance(thing, External):
        sure = len(args) == 2 or thing.path in collective_table.COLLECTIVES
        return value if sure and isinstance(value.thing, External) else None
    return value if value.known or isinstance(value.thing, (Function, Instance, Class, Made)) else None


def _listed(path: str, args: tuple[Value, ...], keywords: Keywords, site: Site) -> Value | None:
    """`dict(...)`, `list(items)`, `map(int, items)` element by element, and what is given back as it was."""
    if path in _SAME:
        return args[0] if args else None
    if path == "builtins.dict":
        return filling.table(args, keywords, site) if keywords or args else None
    thing = args[-1].thing if args else None
    if not isinstance(thing, Items):
        return None
    if path != "builtins.map":
        return args[0]._replace(thing=Items(thing.items)) if len(args) == 1 else None
    caster = args[0].thing
    if len(args) != 2 or not isinstance(caster, External) or caster.path not in CASTS:
        return None
    return of_thing(Items(tuple(cast(caster.path, (item,), site) for item in thing.items)), path, site)


def _deepspeed(args: tuple[Value, ...], keywords: Keywords, site: Site, node: ast.Call) -> Value:
    """(engine, optimizer, loader, scheduler)"""
    engine = of_thing(Made(spellings.ENGINE, site, args, keywords, node), spellings.ENGINE, site)
    rest = (unknown("deepspeed", site, name) for name in ("optimizer", "loader", "scheduler"))
    return of_thing(Items((engine, *rest)), "deepspeed.initialize", site)
