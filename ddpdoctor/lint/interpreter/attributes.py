"""The value of an attribute: of a module, of an object of the project, of an unknown."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter import framework_objects, modes, signals, wrapping
from ddpdoctor.lint.interpreter.classes import find_method
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.instances import instance_value
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.members import class_attribute, member_attribute
from ddpdoctor.lint.interpreter.names import global_value, imported
from ddpdoctor.lint.interpreter.trace import Scope
from ddpdoctor.lint.knowledge import aliases, heuristics, launchers, vocabulary
from ddpdoctor.lint.knowledge.packages import NEVER_LOCAL
from ddpdoctor.lint.values import loader_join
from ddpdoctor.lint.values.abstract_objects import (
    Class,
    EnumMember,
    External,
    Function,
    Instance,
    LocalModule,
    Made,
    Method,
    Namespace,
)
from ddpdoctor.lint.values.tags import NO_TAGS, OF_ALL, OF_BATCH, ORIGIN, SAMPLES, Tag
from ddpdoctor.lint.values.values import (
    FIRST_LOCAL_RANK,
    FIRST_RANK,
    LOCAL_RANK_NUMBERS,
    RANK_NUMBERS,
    Taint,
    Value,
    const,
    of_object,
    symbol_key,
    unknown,
)
from ddpdoctor.program.modules import ClassInfo, Module, once
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.signal_handlers import NO_FLAGS, path_of
from ddpdoctor.program.sites import SourceSite

#: attributes of tensors and loaders that inherit the tags of the data
_DATA_ATTRIBUTES = frozenset({"data", "grad", "T", "loss", "logits", "mT", "real"})

#: attributes that give a matrix the other way round
_TURNED = frozenset({"T", "mT"})
#: attributes that say how much of data there is
EXTENTS = frozenset({"shape", "size"})
#: attributes that say what kind of data something is
_KINDS = frozenset(
    {"dtype", "device", "ndim", "is_cuda", "is_sparse", "requires_grad", "layout", "__class__", "fields"}
)

#: the attribute in which `torch.compile` keeps the original network; treated as the network itself
COMPILED = "_orig_mod"


def attribute(machine: Machine, frame: Frame, owner: Value, name: str, node: ast.AST) -> Value:
    """`owner.name`."""
    obj = owner.object
    kind = obj.__class__
    if kind is External:
        return _external_attribute(machine, frame, obj.path, name)
    if kind is LocalModule:
        value = global_value(machine, obj.module, name)
        if value is not None:
            return value
        return imported(machine, obj.module, f"{obj.module.name}.{name}")
    if kind is Instance:
        wrapping.through_prepared(machine, frame, owner, name, node)
        return _instance_attribute(machine, frame, owner, name, node)
    if kind is Class:
        return class_attribute(machine, obj, name)
    if kind is EnumMember:
        found = member_attribute(machine, obj, name)
        if found is not None:
            return found
    return _of_unknown(machine, frame, owner, name, node)


def _of_unknown(machine: Machine, frame: Frame, owner: Value, name: str, node: ast.AST) -> Value:
    if owner.tags:
        found = wrapping.attribute(machine, frame, owner, name, node)
        if found is not None:
            return found
    if frame.module.flags is not NO_FLAGS or machine.observed is not None:
        flag = _flag(machine, frame, name, node)
        if flag is not None:
            return flag
    return _unknown_attribute(machine, frame, owner, name)


def _flag(machine: Machine, frame: Frame, name: str, node: ast.AST) -> Value | None:
    """`state.stop` if a signal handler sets it, or `trainer.should_stop`, which a handler in another file may set."""
    path = path_of(node) if frame.module.flags and isinstance(node, ast.Attribute) else ()
    found = signals.part(frame.module, path) if path else None
    if found is not None:
        return found
    if machine.observed is None:
        return signals.elsewhere(frame.module, name) if frame.module.flags is not NO_FLAGS else None
    files = tuple(machine.reached.values())
    return next((flag for module in files if (flag := signals.elsewhere(module, name)) is not None), None)


def _external_attribute(machine: Machine, frame: Frame, path: str, name: str) -> Value:
    known = machine.externals.get((path, name))
    if known is not None:
        return known
    full = aliases.canonical(f"{path}.{name}")
    if full.endswith(".rank_zero_only.rank"):
        return RANK_NUMBERS
    if full == "os.environ":
        return of_object(Made("os.environ", SourceSite("", 0, 0, 0, 0)))
    if full in ("torch.distributed.group.WORLD", "torch.distributed.GroupMember.WORLD"):
        return const(None)
    if full == "sys.argv":
        return unknown("argv")
    if "." not in path and path not in frame.module.imports.values() and path not in NEVER_LOCAL:
        local = machine.project.find(f"{path}.{name}", frame.module)
        if local is not None:
            return of_object(LocalModule(local), local.path)
    value = of_object(External(full))
    if "." in path or path in NEVER_LOCAL:
        machine.externals[path, name] = value
    return value


def _unknown_attribute(machine: Machine, frame: Frame, owner: Value, name: str) -> Value:
    key = symbol_key(owner)
    stored = machine.heap.get((key, name)) if key is not None else None
    if stored is not None:
        return stored
    by_name = _named_attribute(frame, owner, name) or _by_stores(machine, frame, name)
    if by_name is not None:
        return by_name
    if isinstance(owner.object, Made):
        made = loader_join.kept(owner, name) or framework_objects.attribute(owner.object.path, name)
        if made is not None:
            return made
    kept = ORIGIN | OF_BATCH | Tag.EXAMPLE | Tag.TIME | Tag.UNIQUE | (OF_ALL if name in _TURNED else NO_TAGS)
    tags = owner.tags & kept
    taint = _taint_of(owner, name)
    if name in EXTENTS:
        tags &= ~Tag.EVALUATED
    if taint is Taint.RANK_LOCAL:
        tags |= owner.tags & (Tag.UNEVEN if name in EXTENTS else Tag.PART)
        tags |= Tag.SAMPLE if owner.tags & SAMPLES else NO_TAGS
    result = unknown("attribute", owner.atoms, name, taint=taint, tags=tags)
    return machine.by_name(result.with_object(Method(owner, name)), name)


def _named_attribute(frame: Frame, owner: Value, name: str) -> Value | None:
    """An attribute that is the same thing whatever has it."""
    if name == COMPILED:
        return owner
    if name in vocabulary.FIRST_RANK_ATTRIBUTES:
        return FIRST_RANK
    if name in vocabulary.FIRST_LOCAL_RANK_ATTRIBUTES:
        return FIRST_LOCAL_RANK
    return LOCAL_RANK_NUMBERS if name == "local_rank" and _is_option_holder(frame.module, owner) else None


def _taint_of(owner: Value, name: str) -> Taint:
    """A part of data is data; an option is given to all ranks alike, but for ranks."""
    if owner.taint is Taint.RANK_LOCAL and (name in _DATA_ATTRIBUTES or _is_own(owner, name)):
        return Taint.RANK_LOCAL
    option = isinstance(owner.object, Namespace) and name not in vocabulary.RANK_NAMES
    return Taint.GIVEN if option or owner.taint is Taint.GIVEN else Taint.UNKNOWN


def _is_own(owner: Value, name: str) -> bool:
    """Whether an attribute of data of this rank is data of it: how many there are of what it has picked out, or what
    one of its samples has."""
    if name in EXTENTS:
        return bool(owner.tags & (Tag.UNEVEN | SAMPLES))
    return bool(owner.tags & SAMPLES) and name not in _KINDS


def _is_option_holder(module: Module, owner: Value) -> bool:
    """Whether the file declares `--local_rank` itself: then the launcher sets it."""
    obj = owner.object
    return "local_rank" in module.options and (obj is None or isinstance(obj, (Namespace, Method)))


def _by_stores(machine: Machine, frame: Frame, name: str) -> Value | None:
    """`args.rank` if a file in reach assigns `args.rank = <a rank>`: assignments decide, not names."""
    if name not in heuristics.RANK_ATTRIBUTES.words:
        return None
    for module in (frame.module, *machine.reached.values()):
        for (_, stored), expressions in module.attribute_stores.items():
            if stored != name:
                continue
            value = _ranked(machine, module, expressions)
            if value is not None:
                return value
    return None


def _ranked(machine: Machine, module: Module, expressions: list[ast.expr]) -> Value | None:
    cached_key = ("ranked", id(expressions))
    if cached_key in machine.attributes:
        return machine.attributes[cached_key]
    machine.attributes[cached_key] = None  # the stored value may depend on the attribute's previous value
    value = machine.attributes[cached_key] = _first_ranked(machine, module, expressions)
    return value


def _first_ranked(machine: Machine, module: Module, expressions: list[ast.expr]) -> Value | None:
    with machine.quietly():
        for expression in expressions:
            if isinstance(expression, (ast.Call, ast.Compare)) and _mentions_rank(expression):
                value = machine.evaluate(Frame(module), expression)
                if value.known and len(value.atoms) > 1:
                    return value
    return None


def _mentions_rank(node: ast.AST) -> bool:
    for inner in walk(node):
        if isinstance(inner, ast.Constant) and inner.value in launchers.RANKS:
            return True
        if isinstance(inner, ast.Attribute) and inner.attr in heuristics.RANK_GETTERS.words:
            return True
        if isinstance(inner, ast.Name) and inner.id in heuristics.RANK_GETTERS.words:
            return True
    return False


def _instance_attribute(machine: Machine, frame: Frame, owner: Value, name: str, node: ast.AST) -> Value:
    obj: Instance = owner.object
    method = find_method(machine, obj.info, name)
    if method is not None:
        marks = method.marks
        if not marks.isdisjoint(("property", "cached_property")):
            read = Function(method, owner)
            value = _property(machine, frame, read, machine.site(frame, node), once="cached_property" in marks)
            return value if value.known or value.tags else _told_to_class(obj.info, name) or value
        if method.of_class:
            owner = of_object(Class(obj.info), id(obj.info))
        return of_object(Function(method, owner), id(method), owner.atoms)
    stored = _mode(machine, frame, owner, obj, name) or instance_value(machine, frame, owner, obj, name)
    if stored is not None:
        return stored
    if name == COMPILED:
        return owner
    by_name = _named_of_instance(machine, frame, owner, name) or loader_join.kept(owner, name)
    if by_name is not None:
        return by_name
    for base in framework_objects.bases(machine, obj.info):
        found = framework_objects.attribute(base, name)
        if found is not None:
            return found
    value = unknown("attribute", owner.atoms, name)
    return machine.by_name(value.with_object(Method(owner, name)), name)


def _named_of_instance(machine: Machine, frame: Frame, owner: Value, name: str) -> Value | None:
    """What an attribute is by its name; in an object of options, what others have put there (`args.gpu = gpu`), or the
    rank of an option that a file in reach declares."""
    if name in vocabulary.FIRST_RANK_ATTRIBUTES:
        return FIRST_RANK
    key = symbol_key(owner)
    if key is None or not _holds_options(owner.object.info):
        return None
    given = machine.heap.get((key, name))
    if given is not None or name != "local_rank":
        return given
    declared = any(name in module.options for module in (frame.module, *machine.reached.values()))
    return LOCAL_RANK_NUMBERS if declared else None


@once
def _holds_options(info: ClassInfo) -> bool:
    """Whether its objects get attributes of any name that they are given: `for k, v in kwargs.items(): setattr(self, k,
    v)`, `self.__dict__.update(kwargs)`."""
    nodes = walk(info.node)
    held = {node for node in nodes if isinstance(node, ast.Attribute) and node.attr == "__dict__"}
    set_ = any(isinstance(node, ast.Assign) and not held.isdisjoint(node.targets) for node in nodes)
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    return set_ or any(
        last_name(func) == "setattr"
        or (isinstance(func, ast.Attribute) and func.attr == "update" and func.value in held)
        for func in calls
    )


def _mode(machine: Machine, frame: Frame, owner: Value, obj: Instance, name: str) -> Value | None:
    """`self.training` of a network."""
    if name != modes.TRAINING or not machine.modes or not modes.has_mode(machine, obj):
        return None
    return modes.of(machine, frame, owner)


def _told_to_class(info: ClassInfo, name: str) -> Value | None:
    """The rank that a class of the project keeps for the others: it reads it from the launcher, or asks the group."""
    kept = _KEPT_RANKS.get(name)
    return kept if kept is not None and _asks_for_rank(info) else None


#: properties in which a class keeps a rank
_KEPT_RANKS = {"rank": RANK_NUMBERS, "global_rank": RANK_NUMBERS, "local_rank": LOCAL_RANK_NUMBERS}


@once
def _asks_for_rank(info: ClassInfo) -> bool:
    return _mentions_rank(info.node)


def _property(machine: Machine, frame: Frame, read: Function, site: SourceSite, *, once: bool) -> Value:
    """What a property gives; its collectives go into the frame's trace, as those of a method that is called."""
    loops = frame.loops
    if once:
        frame.loops = ()  # made in the first iteration only
    outcome = machine.call(read, (), (), frame, site)
    frame.loops = loops
    if outcome is None:
        return unknown("property", id(read.info))
    if outcome.trace:
        frame.out.append(Scope(read.info.name, outcome.trace, site))
    frame.stores.update(outcome.stores)
    machine.heap.update(outcome.stores)
    return outcome.value
