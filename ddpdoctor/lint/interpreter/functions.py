"""Calls of external functions and classes: the first resolver that knows the function gives the result."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from functools import lru_cache

from ddpdoctor.lint.interpreter import file_effects, fsdp, random_state, sources, spawning, wrapping
from ddpdoctor.lint.interpreter.assignments import store_attribute
from ddpdoctor.lint.interpreter.attributes import attribute
from ddpdoctor.lint.interpreter.classes import find_method
from ddpdoctor.lint.interpreter.collective_calls import enter_collective
from ddpdoctor.lint.interpreter.invocations import FunctionCall
from ddpdoctor.lint.interpreter.results import CASTS, cast, made_by
from ddpdoctor.lint.interpreter.sources import source_of
from ddpdoctor.lint.interpreter.spawning import started
from ddpdoctor.lint.interpreter.trace import QUIT, BlockExit, GroupEnd, Op
from ddpdoctor.lint.knowledge import aliases, collectives, frameworks, vocabulary
from ddpdoctor.lint.values import containers
from ddpdoctor.lint.values.abstract_objects import (
    Arguments,
    Class,
    External,
    Function,
    Given,
    Instance,
    Items,
    LocalModule,
    Made,
    Namespace,
    Table,
)
from ddpdoctor.lint.values.iteration import iterated_of
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import (
    EVERY_RANK,
    FALSE,
    NONE,
    RANK_NUMBERS,
    TRUE,
    WORLD_NUMBER,
    Taint,
    Value,
    binary,
    of_object,
    unknown,
)
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.nodes import walk

#: functions that return the network given to them, or an equivalent
_SAME = frozenset({
    "torch.compile", "torch.nn.SyncBatchNorm.convert_sync_batchnorm", "apex.parallel.convert_syncbn_model",
    "deepspeed.add_config_arguments", "weakref.proxy",
})  # fmt: skip
_LISTING = frozenset({"builtins.dict", "builtins.list", "builtins.tuple", "builtins.map"})
_EXITS = frozenset({"sys.exit", "os._exit", "builtins.exit", "builtins.quit", "os.abort"})
_TESTS = frozenset({"builtins.hasattr", "builtins.isinstance", "builtins.getattr"})
#: functions that return (rank, world size)
_RANK_AND_SIZE = frozenset({"mmengine.dist.get_dist_info", "mmcv.runner.get_dist_info"})


def called(call: FunctionCall) -> Value:
    """The result of the call; its collectives, exits and files go into the frame's trace."""
    for resolve in _resolvers(call.path):
        value = resolve(call)
        if value is not None:
            return value
    return random_state.called(call, fsdp.made(call, made_by(call)))


def _collective(call: FunctionCall) -> Value | None:
    if call.path in collectives.WRAPPERS:
        module = call.args or tuple(v for k, v in call.keywords if k == "module")
        wrapping.remember(call.machine, call.frame, module, call.node, call.site)
    return enter_collective(call, collectives.COLLECTIVES[call.path])


def _source(call: FunctionCall) -> Value | None:
    return source_of(call.path, call.args, call.keywords)


def _files(call: FunctionCall) -> Value | None:
    return file_effects.function(call.frame, call.path, call.args, call.keywords, call.site)


def ends_in_order(given: Arguments, name: str) -> bool:
    """Whether the first argument, of that name, is the status of a process that is done."""
    status = given.argument(0, name)
    return not given.opaque and (status is None or (status.known and status.constant in (None, 0)))


def ends_job(function: FunctionInfo | None) -> bool:
    """Whether a function has the scheduler end the job: no rank goes on where one of them leaves."""
    nodes = walk(function.node) if function is not None else []
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return any(command in text for text in texts for command in vocabulary.ENDING_JOBS)


def _exit(call: FunctionCall) -> Value | None:
    is_done = call.path != "os.abort" and ends_in_order(call, "status") and not ends_job(call.frame.function)
    call.frame.out.append(BlockExit(QUIT if is_done else "exit", call.site))
    call.frame.mask = 0
    return NONE


def _group_ends(call: FunctionCall) -> None:
    """Nothing as a result; noted where all ranks destroy the group of the job."""
    if not call.args and not call.keywords and call.frame.mask == EVERY_RANK:
        call.frame.out.append(GroupEnd(call.site))


def _cast(call: FunctionCall) -> Value | None:
    if not call.args or call.keywords:
        return None
    measured = _length_of_share(call) if call.path == "builtins.len" else None
    return measured or cast(call.path, call.args, call.site)


def _length_of_share(call: FunctionCall) -> Value | None:
    """What an object of the project says how long it is, where that is the length of this rank's share of data."""
    obj, machine = call.args[0].object, call.machine
    method = find_method(machine, obj.info, "__len__") if isinstance(obj, Instance) else None
    if method is None:
        return None
    with machine.quietly():
        given = Given((), (), call.site, call.node)
        length = machine.follow(call.frame, Function(method, call.args[0]), given)
    return length if length.tags & Tag.SHARD and length.taint is Taint.RANK_LOCAL else None


def _tested(call: FunctionCall) -> Value | None:
    """`hasattr`, `isinstance` and `getattr`."""
    return wrapping.tested(call.machine, call.frame, call.path, call.args, call.node) or _read_by_name(call)


def _callable(call: FunctionCall) -> Value | None:
    """`callable(value)` of a function or a class, and of a number or text, data, or what a collective has given."""
    value = call.args[0] if len(call.args) == 1 else None
    if value is None or isinstance(value.object, (Function, Class)):
        return TRUE if value is not None else None
    is_data = value.object is None and value.taint in (Taint.UNIFORM, Taint.RANK_LOCAL)
    return FALSE if value.known or is_data else None


def _read_by_name(call: FunctionCall) -> Value | None:
    """`getattr(owner, "name")` of an object with known attributes, if it certainly has this one."""
    if call.path != "builtins.getattr" or len(call.args) < 2:
        return None
    name, obj = call.args[1].constant, call.args[0].object
    if isinstance(obj, Namespace) and name in call.frame.module.options:
        return attribute(call.machine, call.frame, call.args[0], str(name), call.node)
    if not isinstance(name, str) or not isinstance(obj, (Instance, LocalModule, Class, External)):
        return None
    value = attribute(call.machine, call.frame, call.args[0], name, call.node)
    if isinstance(obj, External):
        sure = len(call.args) == 2 or obj.path in collectives.COLLECTIVES
        return value if sure and isinstance(value.object, External) else None
    return value if value.known or isinstance(value.object, (Function, Instance, Class, Made)) else None


def _stored_by_name(call: FunctionCall) -> Value | None:
    """`setattr(owner, "name", value)`."""
    if len(call.args) != 3 or not isinstance(call.args[1].constant, str):
        return None
    store_attribute(call.machine, call.frame, call.args[0], call.args[1].constant, call.args[2])
    return NONE


def _same(call: FunctionCall) -> Value | None:
    return call.args[0] if call.args else None


def _listed(call: FunctionCall) -> Value | None:
    """`dict(...)`, `list(items)`, `map(int, items)` element by element."""
    path, args, site = call.path, call.args, call.site
    if path == "builtins.dict":
        return _of_pairs(call) or containers.table(args, call.keywords, site)
    obj = args[-1].object if args else None
    if path == "builtins.list" and len(args) == 1 and args[0].elements == ():
        return of_object(Items(()), path, site)  # of a parameter that is `()` unless it is given
    if not isinstance(obj, Items):
        return None
    if path != "builtins.map":
        return args[0]._replace(object=Items(obj.items)) if len(args) == 1 else None
    caster = args[0].object
    if len(args) != 2 or not isinstance(caster, External) or caster.path not in CASTS:
        return None
    return of_object(Items(tuple(cast(caster.path, (item,), site) for item in obj.items)), path, site)


def _of_pairs(call: FunctionCall) -> Value | None:
    """`dict(zip(names, values))`, where something is known of the values."""
    if len(call.args) != 1 or call.keywords or isinstance(call.args[0].object, Table):
        return None
    pair = iterated_of(call.args[0])[1]
    parts = pair.object.items if pair is not None and isinstance(pair.object, Items) else ()
    if len(parts) != 2 or parts[1].taint is not Taint.RANK_LOCAL:
        return None
    return of_object(Table((), complete=False, rest=parts[1]), "dict", call.site)


def _starts(call: FunctionCall) -> None:
    """Unknown as a result; the functions that the call starts are simulated."""
    started(call)


def _calls(call: FunctionCall) -> None:
    """Unknown as a result; the function that it is given and calls is simulated."""
    given = call.argument(*frameworks.CALLING[call.path])
    if given is not None and isinstance(given.object, Function):
        call.machine.follow(call.frame, given.object, Given((), (), call.site, call.node))


def _rank_and_size(call: FunctionCall) -> Value | None:
    if call.args or call.keywords:
        return None
    return of_object(Items((RANK_NUMBERS, WORLD_NUMBER)), call.path)


def _divided(call: FunctionCall) -> Value | None:
    """`divmod(rank, size)`: (quotient, remainder)."""
    if len(call.args) != 2 or call.keywords:
        return None
    parts = tuple(binary(name, *call.args) for name in ("FloorDiv", "Mod"))
    return of_object(Items(parts), call.path, call.site)


def _deepspeed(call: FunctionCall) -> Value | None:
    """`deepspeed.initialize`: (engine, optimizer, loader, scheduler)."""
    site = call.site
    call.frame.out.append(Op(call.path, None, site))
    engine = of_object(Made(aliases.ENGINE, site, call.args, call.keywords, call.node), aliases.ENGINE, site)
    optimizer, loader, scheduler = (unknown("deepspeed", site, name) for name in ("optimizer", "loader", "scheduler"))
    data = call.argument(4, "training_data")
    if data is not None and data.constant is not None:
        loader = loader.with_object(Made(aliases.LOADER, site, (data,), (), call.node)).tagged(Tag.PREPARED)
    return of_object(Items((engine, optimizer, loader, scheduler)), call.path, site)


#: Tried in this order; the first that gives a value decides. With the paths that each handles.
RESOLVERS: tuple[tuple[Callable[[FunctionCall], Value | None], Collection[str] | Callable[[str], bool]], ...] = (
    (_collective, collectives.COLLECTIVES),
    (fsdp.norm, fsdp.NORMS),
    (fsdp.state, fsdp.STATES),
    (_source, sources.PATHS),
    (_files, file_effects.concerns),
    (_exit, _EXITS),
    (_group_ends, ("torch.distributed.destroy_process_group",)),
    (_cast, CASTS),
    (_tested, _TESTS),
    (_callable, ("builtins.callable",)),
    (_stored_by_name, ("builtins.setattr",)),
    (_same, _SAME),
    (_listed, _LISTING),
    (_starts, spawning.starts),
    (_calls, frameworks.CALLING),
    (_rank_and_size, _RANK_AND_SIZE),
    (_divided, ("builtins.divmod",)),
    (_deepspeed, ("deepspeed.initialize",)),
)


@lru_cache(maxsize=1 << 12)
def _resolvers(path: str) -> tuple[Callable[[FunctionCall], Value | None], ...]:
    return tuple(resolve for resolve, known in RESOLVERS if (known(path) if callable(known) else path in known))
