"""What a network consists of, as far as the source of its classes shows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.interpreter.classes import find_method, mro
from ddpdoctor.lint.interpreter.events import Context
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.names import global_value
from ddpdoctor.lint.knowledge import aliases, heuristics
from ddpdoctor.lint.values.abstract_objects import Class, Function, Instance, Items, Made
from ddpdoctor.lint.values.values import Value, of_object
from ddpdoctor.program.modules import ClassInfo, FunctionInfo
from ddpdoctor.program.nodes import dotted, last_name, walk
from ddpdoctor.program.sites import SourceSite

#: most classes and containers that are looked at for one network
_MOST = 12
#: whose classes are all in sight, or known not to make modules
_PLAIN = frozenset({
    "torch", "math", "copy", "numpy", "functools", "collections", "typing", "warnings", "logging",
})  # fmt: skip


def classes(machine: Machine, network: Value) -> list[ClassInfo]:
    """Classes of the project that a network consists of: its arguments, and what `__init__` of each creates."""
    found: list[ClassInfo] = []
    for obj in _parts(network):
        if isinstance(obj, Instance) and obj.info not in found:
            found.append(obj.info)
            init = find_method(machine, obj.info, "__init__")
            names = {n.func.id for n in walk(init.node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
                     } if init is not None else set()  # fmt: skip
            parts = (global_value(machine, obj.info.module, name) for name in sorted(names))
            found.extend(p.object.info for p in parts if p is not None and isinstance(p.object, Class))
    return found


def closure(machine: Machine, network: Value) -> list[ClassInfo]:
    """The classes of a network and of its parts, however deep, as far as they are in sight."""
    found = classes(machine, network)
    for info in found:
        if len(found) >= _MOST:
            break
        inner = classes(machine, of_object(Instance(info, None)))
        found.extend(one for one in inner if one not in found)
    return found


def makes(machine: Machine, network: Value, site: SourceSite, context: Context) -> bool:
    """Whether what is done at a place makes a part of a network: one of its classes does it, or it was given what was
    made there."""
    if any(isinstance(part, Made) and part.site == site for part in _parts(network)):
        return True
    makers = {f"{info.name}.__init__" for info in closure(machine, network)}
    return not makers.isdisjoint(context.calls)


def _parts(network: Value) -> Iterator[Instance | Made]:
    """The object, and those that it was given: the layers of a `Sequential`."""
    waiting, seen = [network], 0
    while waiting and seen < _MOST:
        obj, seen = waiting.pop(0).object, seen + 1
        if isinstance(obj, (Instance, Made)):
            waiting.extend((*obj.args, *(v for _, v in obj.keywords)))
            yield obj
        elif isinstance(obj, Items):
            waiting.extend(obj.items)


def has_buffers(machine: Machine, network: Value) -> bool | None:
    """Whether a network has layers with batch norm or other buffers, or classes of the project that make some; None
    where something that is not in sight makes a part of it."""
    made = (part.path.rpartition(".")[2] for part in _parts(network) if isinstance(part, Made))
    if not set(heuristics.HAS_BUFFERS.words).isdisjoint(made):
        return True
    found = classes(machine, network)
    if not found or len(found) >= _MOST:
        return None
    makers = _makers(machine, found)
    sources = (*(info.node for info in found), *(maker.node for maker in makers))
    names = {name for source in sources for node in walk(source) if (name := _name(node))}
    if not names.isdisjoint(heuristics.HAS_BUFFERS.words):
        return True
    return False if len(makers) < _MOST and all(_in_sight(machine, maker, found) for maker in makers) else None


def _makers(machine: Machine, found: list[ClassInfo]) -> list[FunctionInfo]:
    """The constructors, the functions of the project that they call by name, and those that these call:
    `conv_bn(3, 64)`."""
    inits = (find_method(machine, info, "__init__") for info in found)
    makers: list[FunctionInfo] = [init for init in inits if init is not None]
    for maker in makers:
        if len(makers) < _MOST:
            called = {n.func.id for n in walk(maker.node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
            values = (global_value(machine, maker.module, name) for name in sorted(called))
            more = (v.object.info for v in values if v is not None and isinstance(v.object, Function))
            makers += [info for info in more if info not in makers]
    return makers


def has(machine: Machine, network: Value, name: str) -> bool | None:
    """Whether a network has an attribute or method; None where its class, or one that it extends, is not in sight, or
    attributes are given by computed names."""
    obj = network.object
    if not isinstance(obj, Instance):
        return None
    lineage = mro(machine, obj.info)
    if any(name in (*info.methods, *info.constants, *info.stores) for info in lineage):
        return True
    beyond = [base for info in lineage for base in info.node.bases if not _is_plain_module(info, base)]
    in_sight = len(beyond) == len(lineage) - 1 and not any("__getattr__" in info.methods for info in lineage)
    nodes = [node for info in lineage for node in walk(info.node)]
    told = any(isinstance(node, ast.Constant) and node.value == name for node in nodes)
    return None if told or not in_sight or any(map(_gives_any, nodes)) else False


#: what gives a network attributes whose names are values, and where the name is
_GIVES = {"setattr": 1, "add_module": 0, "register_module": 0, "register_buffer": 0, "register_parameter": 0}


def _gives_any(node: ast.AST) -> bool:
    """Whether it gives a network an attribute of a name that is computed."""
    at = _GIVES.get(last_name(node.func)) if isinstance(node, ast.Call) else None
    if at is None or not isinstance(node, ast.Call):
        return isinstance(node, ast.Attribute) and node.attr == "__dict__"
    return not any(isinstance(argument, ast.Constant) for argument in node.args[at : at + 1])


def _is_plain_module(info: ClassInfo, base: ast.expr) -> bool:
    """Whether a base is torch's own module, which has nothing but what every module has."""
    path = info.module.imported(base) or ".".join(dotted(base))
    return aliases.canonical(path) in ("torch.nn.Module", "object", "builtins.object", "abc.ABC")


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _in_sight(machine: Machine, maker: FunctionInfo, found: list[ClassInfo]) -> bool:
    """Whether all that a function calls is torch's, a class that was looked at, a function that is, or makes no
    module."""
    for node in walk(maker.node):
        if not isinstance(node, ast.Call):
            continue
        value = global_value(machine, maker.module, node.func.id) if isinstance(node.func, ast.Name) else None
        made = value.object if value is not None else None
        package = maker.module.imported(node.func).partition(".")[0]
        if isinstance(made, Class):
            if made.info not in found:
                return False
        elif package and package not in _PLAIN and not isinstance(made, Function):
            return False
    return True
