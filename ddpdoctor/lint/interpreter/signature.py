"""Parameters: binding arguments to them, and recognising a rank by the call it is passed to."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter.attributes import attribute
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.lint.values.abstract_objects import Items, Made, Namespace, Table
from ddpdoctor.lint.values.tags import ORIGIN, REASONS, Tag
from ddpdoctor.lint.values.values import RANK_NUMBERS, Keywords, Symbol, Taint, Value, asserted, of_object, unknown
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.nodes import last_name, walk


def bind(
    machine: Machine, info: FunctionInfo, receiver: Value | None, args: tuple[Value, ...], keywords: Keywords
) -> dict[str, Value]:
    """The callee's variables at its start: arguments, then defaults, then unknowns."""
    signature = info.signature
    values = args if receiver is None or info.is_static else (receiver, *args)
    env = {name: _general(value) for name, value in zip(signature.positional, values, strict=False)}
    spread, extra = _by_name(machine, info, env, keywords) if keywords else (False, ())
    _defaults(machine, info, env, spread=spread)
    if signature.rest:
        env[signature.rest] = of_object(Items(tuple(values[len(signature.positional) :])), "varargs", id(info))
    if signature.others:
        env[signature.others] = of_object(Table(extra, not spread), "kwargs", id(info))
    teach(machine, info, env)
    return env


def _by_name(
    machine: Machine, info: FunctionInfo, env: dict[str, Value], keywords: Keywords
) -> tuple[bool, Keywords]:  # fmt: skip
    """Bind what is given by name; returns whether more may be given, by `*` and `**`, and what is no parameter."""
    signature = info.signature
    by_name = [(name, _general(value)) for name, value in keywords if name not in ("*", "**")]
    env.update((name, value) for name, value in by_name if name in signature.names)
    env.update(_options(machine, info, keywords, set(signature.names).difference(env)))
    _parts_of_data(env, signature.needed, keywords)
    return len(by_name) < len(keywords), tuple(pair for pair in by_name if pair[0] not in signature.names)


def parameter_of(machine: Machine, info: FunctionInfo, name: str) -> Value:
    """A parameter of which only the name is known, or only that all ranks get the same from the command line."""
    value = unknown("parameter", id(info), name)
    if machine.observed is None:
        return value
    decorators = (d.func if isinstance(d, ast.Call) else d for d in info.decorators)
    if any(info.module.imported(d) in vocabulary.CONFIGURING for d in decorators):
        return value._replace(taint=Taint.GIVEN)
    return machine.by_name(value, name)


def _parts_of_data(env: dict[str, Value], names: tuple[str, ...], keywords: Keywords) -> None:
    """`f(*batch)`: parameters without another argument are parts of the batch."""
    given = next((v for n, v in keywords if n in ("*", "**") and v.taint is Taint.RANK_LOCAL), None)
    if given is None:
        return
    tags = given.tags & (ORIGIN | REASONS)
    for name in names:
        if name not in env:
            env[name] = unknown("part", given.atoms, name, taint=Taint.RANK_LOCAL, tags=tags)


def _options(
    machine: Machine, info: FunctionInfo, keywords: Keywords, wanted: set[str]
) -> dict[str, Value]:  # fmt: skip
    """`main(**vars(args))`: every parameter is the option of its name."""
    made = next((v.object for name, v in keywords if name == "**"), None)
    if not isinstance(made, Made) or made.path != "builtins.vars" or not made.args:
        return {}
    owner = made.args[0]
    if not isinstance(owner.object, Namespace):
        return {}
    return {name: attribute(machine, Frame(info.module), owner, name, info.node) for name in sorted(wanted)}


def teach(machine: Machine, info: FunctionInfo, env: dict[str, Value]) -> None:
    """Apply the taints that a comment on the function's head gives to parameters."""
    taints = machine.annotated[info.module] if info.module.annotated else None
    if taints:
        for parameter in (*info.parameters, *info.node.args.kwonlyargs):
            if id(parameter) in taints:
                env[parameter.arg] = asserted(env[parameter.arg], taints[id(parameter)])


def _general(value: Value) -> Value:
    """The value, unknown if it is long text or a float: those need no separate simulation of the callee."""
    constant = value.atoms[0] if value.object is None and len(value.atoms) == 1 else None
    if isinstance(constant, float) or (isinstance(constant, str) and (" " in constant or len(constant) > 24)):
        return unknown("argument", type(constant).__name__)
    return value


def _defaults(machine: Machine, info: FunctionInfo, env: dict[str, Value], *, spread: bool) -> None:
    for name, default in info.signature.defaults:
        given = env.get(name)
        if given is None:
            if not spread:
                with machine.quietly():
                    env[name] = _general(machine.evaluate(Frame(info.module), default))
        elif isinstance(default, ast.Constant) and _is_element(machine, given):
            env[name] = given if default.value is not None else given.tagged(Tag.GIVEN)
    for name in info.signature.names:
        if name not in env:
            env[name] = parameter_of(machine, info, name)


def _is_element(machine: Machine, value: Value) -> bool:
    """Whether it is an element over which a caller's loop iterates: such elements are hardly ever None."""
    atom = value.atoms[0]
    return isinstance(atom, Symbol) and atom.key in machine.elements and not value.tags & ~Tag.IN_SET


def rank_parameters(machine: Machine, info: FunctionInfo) -> dict[str, Value]:
    """Parameters that are passed to `init_process_group(rank=...)`, directly or through one function of the file."""
    if "init_process_group" not in info.module.words:
        return {}
    mine = {p.arg for p in info.parameters}
    found: dict[str, Value] = {}
    for name in _ranks_of(machine, info, 0):
        if name in mine:
            # it may also be a local rank: a worker of one node, spawned in another file
            found[name] = RANK_NUMBERS.tagged(Tag.SPAWNED)
    return found


def _ranks_of(machine: Machine, info: FunctionInfo, depth: int) -> set[str]:
    names: set[str] = set()
    for node in walk(info.node):
        if not isinstance(node, ast.Call):
            continue
        callee = last_name(node.func)
        if callee == "init_process_group":
            for keyword in node.keywords:
                if keyword.arg == "rank" and isinstance(keyword.value, ast.Name):
                    names.add(keyword.value.id)
        elif depth < 2 and isinstance(node.func, ast.Name):
            local = next((f for f in info.module.functions if f.name == callee and f is not info), None)
            if local is not None:
                names |= _passed_on(node, local, _ranks_of(machine, local, depth + 1))
    return names


def _passed_on(node: ast.Call, callee: FunctionInfo, ranks: set[str]) -> set[str]:
    names: set[str] = set()
    for parameter, argument in zip(callee.parameters, node.args, strict=False):
        if parameter.arg in ranks and isinstance(argument, ast.Name):
            names.add(argument.id)
    for keyword in node.keywords:
        if keyword.arg in ranks and isinstance(keyword.value, ast.Name):
            names.add(keyword.value.id)
    return names
