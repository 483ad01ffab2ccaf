"""Random draws that no simulated call reaches: in a data set run by its loader's workers, and in networks."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from ddpdoctor.lint.facts import draws_by_sample, networks
from ddpdoctor.lint.interpreter.classes import external_bases, find_method, mro
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.names import global_value
from ddpdoctor.lint.knowledge import aliases, heuristics, randomness
from ddpdoctor.lint.knowledge.randomness import Use
from ddpdoctor.lint.values.abstract_objects import Class, Function, Instance, Items, LocalModule, Made, Method
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.modules import ClassInfo, FunctionInfo, Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite, site_of

#: methods that workers run for each sample, or each batch
_RUN = ("__getitem__", "__getitems__", "__iter__")
_HOLDERS = (".Subset", ".ConcatDataset")
#: functions that create or seed a generator of the sample's own
_SEEDING = randomness.last_names(Use.SEEDS, Use.MAKES, Use.MAKES_ALIKE, Use.RESTORES)
#: most functions that are examined for one data set
_MOST = 12


class Draw(NamedTuple):
    """Where random numbers are drawn, by the function of this path."""

    site: SourceSite
    path: str
    #: whether how many are drawn depends on the sample, there or where the same generator is drawn from beside it
    by_sample: bool = False


def in_loader(machine: Machine, loader: CallEvent, drawing: Collection[str] = randomness.DRAWS) -> Draw | None:
    """Where the data set of a loader, or its collate function, draws from a global generator; `drawing`: by one of
    these functions."""
    infos = _called(machine, loader.argument(6, "collate_fn"))
    for data in _data(loader.argument(0, "dataset")):
        methods = (find_method(machine, data, name) for name in _RUN)
        infos.extend(m for m in methods if m is not None)
    for given in _given(loader.argument(0, "dataset"), _DEEPEST):
        called = find_method(machine, given, "__call__")
        infos.extend([called] if called is not None else [])
    return _drawn(machine, infos, drawing)


def streams(machine: Machine, loader: CallEvent) -> bool:
    """Whether the data set of a loader is one that is only gone through: an `IterableDataset`."""
    return any(_is_stream(machine, data) for data in _data(loader.argument(0, "dataset")))


def _is_stream(machine: Machine, info: ClassInfo) -> bool:
    return any(base.endswith("IterableDataset") for base in external_bases(machine, info))


def _called(machine: Machine, value: Value | None) -> list[FunctionInfo]:
    """The function that a loader is given, itself or with some of its arguments, or as an object that is called."""
    obj = value.object if value is not None else None
    if isinstance(obj, Made) and obj.path == "functools.partial" and obj.args:
        obj = obj.args[0].object
    if isinstance(obj, Function):
        return [obj.info]
    called = find_method(machine, obj.info, "__call__") if isinstance(obj, Instance) else None
    return [called] if called is not None else []


def in_made(
    machine: Machine, drawing: Collection[str] = randomness.DRAWS, *, streams: bool = True
) -> Draw | None:  # fmt: skip
    """Where a data set or a transform draws that the program makes, in whatever way it gets to a loader: from a list
    that grows, a table of classes, a function that chooses; `streams`: also those that are only gone through."""
    made = {last_name(node.func) for node in run_nodes(machine) if isinstance(node, ast.Call)}
    for module in list(machine.reached.values()):
        for info in module.classes:
            if info.name in made and not _is_of_main_process(info) and (streams or not _is_stream(machine, info)):
                run = [info.methods[name] for name in (*_RUN, "__call__") if name in info.methods]
                draw = _drawn(machine, run, drawing) if run else None
                if draw is not None:
                    return draw
    return None


def run_nodes(machine: Machine) -> Iterator[ast.AST]:
    """What the program runs: the functions that were simulated, the methods by which Lightning makes loaders, and the
    statements outside of functions."""
    for info in machine.ran:
        yield from walk(info.node)
    for module in list(machine.reached.values()):
        for cls in module.classes:
            if any(last_name(base).endswith("DataModule") for base in cls.node.bases):
                yield from walk(cls.node)
        for statement in module.tree.body:
            if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from walk(statement)


def _is_of_main_process(info: ClassInfo) -> bool:
    """Whether it is a network or a sampler, which no worker calls."""
    return any(last_name(base).endswith(("Module", "Sampler")) for base in info.node.bases)


def order_of(machine: Machine, sampler: ClassInfo) -> Draw | None:
    """Where a sampler draws an order from a global generator."""
    methods = (find_method(machine, sampler, name) for name in ("__init__", "__iter__"))
    return _drawn(machine, [m for m in methods if m is not None], randomness.paths(Use.ORDERS, Use.SHUFFLES), sampler)


#: objects in objects that a data set is given: the steps of a `Compose` in a list
_DEEPEST = 4


def _given(value: Value | None, depth: int) -> list[ClassInfo]:
    """Classes of the project of which a data set is given objects: transforms, as a rule."""
    obj = value.object if value is not None else None
    parts: tuple[Value, ...] = ()
    if isinstance(obj, Items):
        parts = obj.items
    elif isinstance(obj, (Instance, Made)):
        parts = (*obj.args, *(given for _, given in obj.keywords))
    found = [part.object.info for part in parts if isinstance(part.object, Instance)]
    return found + [info for part in parts if depth for info in _given(part, depth - 1)]


def in_network(machine: Machine, network: Value) -> Draw | None:
    """Where the forward of a network, or of one of its parts, or what Lightning calls for each batch, draws from a
    global generator."""
    infos = networks.classes(machine, network)
    steps = (find_method(machine, info, name) for info in infos for name in ("forward", "training_step"))
    return _drawn(machine, [f for f in steps if f is not None])


def in_trained(machine: Machine) -> Draw | None:
    """Where what Lightning calls for each batch draws, in a network of the program's own that it makes, or loads, in
    whatever way the trainer gets it."""
    made = {name for node in run_nodes(machine) if isinstance(node, ast.Call) for name in _maker(node)}
    for module in list(machine.reached.values()):
        for info in module.classes:
            if info.name in made and any(last_name(base) == "LightningModule" for base in info.node.bases):
                draw = _drawn(machine, [info.methods[step] for step in ("training_step",) if step in info.methods])
                if draw is not None:
                    return draw
    return None


def _maker(node: ast.Call) -> Iterator[str]:
    """The class that a call makes an object of: `Net(...)`, `Net.load_from_checkpoint(...)`."""
    yield last_name(node.func)
    if isinstance(node.func, ast.Attribute) and node.func.attr == "load_from_checkpoint":
        yield last_name(node.func.value)


def made_up(machine: Machine, data: Value | None) -> bool:
    """Whether a data set consists of random numbers: its class draws them, once or for each sample, and reads nothing,
    or it holds tensors that are drawn."""
    obj = data.object if data is not None else None
    if isinstance(obj, Made) and obj.path.endswith(".TensorDataset"):
        return bool(obj.args) and all(_is_drawn(one) for one in obj.args)
    inits = [init for info in _data(data) if (init := find_method(machine, info, "__init__")) is not None]
    gets = [get for info in _data(data) if (get := find_method(machine, info, "__getitem__")) is not None]
    words = {last_name(n.func) for part in (*inits, *gets) for n in walk(part.node) if isinstance(n, ast.Call)}
    if not words.isdisjoint(heuristics.READS_DATA.words):
        return False
    # of what is there by index something is kept, and only noise is added
    return _drawn(machine, inits) is not None or (not any(map(_by_index, gets)) and _drawn(machine, gets) is not None)


def made_up_by_call(machine: Machine, module: Module, call: ast.expr) -> bool:
    """Whether an expression calls a function of the project that draws the data and reads nothing: it is given sizes
    alone."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return False
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    value = global_value(machine, module, call.func.id)
    info = value.object.info if value is not None and isinstance(value.object, Function) else None
    if info is None or not all(isinstance(one, ast.Constant) for one in given):
        return False
    words = {last_name(n.func) for n in walk(info.node) if isinstance(n, ast.Call)}
    return words.isdisjoint(heuristics.READS_DATA.words) and _drawn(machine, [info]) is not None


def _by_index(get: FunctionInfo) -> bool:
    """Whether a `__getitem__` takes something by its index."""
    index = get.parameters[1].arg if len(get.parameters) > 1 else ""
    taken = (n.slice for n in walk(get.node) if isinstance(n, ast.Subscript))
    given = (a for n in walk(get.node) if isinstance(n, ast.Call) for a in n.args)
    return any(isinstance(n, ast.Name) and n.id == index for part in (*taken, *given) for n in ast.walk(part))


#: functions and methods that make a tensor of what they are given, or of another type
_CONVERTING = frozenset({
    "torch.tensor", "torch.Tensor", "torch.FloatTensor", "torch.LongTensor", "torch.from_numpy", "torch.as_tensor",
    "numpy.array", "numpy.asarray", "?.astype", "?.float", "?.long", "?.int", "?.to", "?.cuda",
})  # fmt: skip


def _is_drawn(value: Value, depth: int = 4) -> bool:
    """Whether it is random numbers, perhaps of another type."""
    obj = value.object
    if isinstance(obj, Method):
        return depth > 0 and f"?.{obj.name}" in _CONVERTING and _is_drawn(obj.receiver, depth - 1)
    if not isinstance(obj, Made):
        return False
    converted = depth > 0 and obj.path in _CONVERTING and bool(obj.args)
    return obj.path in randomness.DRAWS or (converted and _is_drawn(obj.args[0], depth - 1))


def _drawn(
    machine: Machine,
    infos: list[FunctionInfo],
    drawing: Collection[str] = randomness.DRAWS,
    of: ClassInfo | None = None,
) -> Draw | None:
    """The first draw in the functions, or in the project's functions that they call; `of`: the class of the
    object whose methods they are, which may have replaced some."""
    infos, seen = list(infos), list[FunctionInfo]()
    first: Draw | None = None
    while infos and len(seen) < _MOST:
        info = infos.pop(0)
        if info in seen:
            continue
        seen.append(info)
        nodes = walk(info.node)
        if first is None and any(isinstance(n, ast.Call) and last_name(n.func) in _SEEDING for n in nodes):
            return None
        in_place = _in_place_of_given(info.node)
        for node in nodes:
            if isinstance(node, ast.Call) and node not in in_place:
                path = aliases.canonical(info.module.imported(node.func))
                if path in drawing and not any(k.arg == "generator" for k in node.keywords):
                    first = first or Draw(site_of(info.module, node), path)
                    if _alike(first.path, path) and draws_by_sample.asks(info.node, path, node):
                        return first._replace(by_sample=True)
                inner = _replaced(machine, info, node.func, of) or _own(machine, info, node.func)
                infos.extend([inner] if inner is not None else [])
    return first


def _in_place_of_given(function: ast.AST) -> set[ast.AST]:
    """What a function does where it is not given something: `if noise is None: noise = torch.randn_like(x)`."""
    given = {a.arg for n in walk(function) if isinstance(n, ast.arguments) for a in (*n.args, *n.kwonlyargs)}
    return {
        inner
        for node in walk(function)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Compare) and isinstance(node.test.ops[0], ast.Is)
        and isinstance(node.test.left, ast.Name) and node.test.left.id in given
        for statement in node.body
        for inner in walk(statement)
    }  # fmt: skip


def _alike(one: str, other: str) -> bool:
    """Whether two functions draw from the same generator."""
    return randomness.FUNCTIONS[one].generators == randomness.FUNCTIONS[other].generators


def _data(value: Value | None) -> list[ClassInfo]:
    """Classes of the project that a loader's data set consists of."""
    obj = value.object if value is not None else None
    if isinstance(obj, Instance):
        return [obj.info]
    if isinstance(obj, Items):
        return [info for item in obj.items for info in _data(item)]
    if isinstance(obj, Made) and obj.path.endswith(_HOLDERS) and obj.args:
        return _data(obj.args[0])
    return []


def _own(machine: Machine, info: FunctionInfo, func: ast.expr) -> FunctionInfo | None:
    """The project's function that is called: by its name, as one of another file, as a method of the same object, or of
    one that the object has made for itself."""
    made = _named(machine, info.module, func)
    if isinstance(made, Class):
        return find_method(machine, made.info, "__call__")  # a transform that is made on the spot
    if isinstance(made, Function):
        return made.info
    me = info.parameters[0].arg if info.owner is not None and info.parameters else None
    if not isinstance(func, ast.Attribute) or me is None or info.owner is None:
        return None
    if isinstance(func.value, ast.Name):
        return find_method(machine, info.owner, func.attr) if func.value.id == me else None
    kept = func.value if isinstance(func.value, ast.Attribute) else None
    if kept is None or not isinstance(kept.value, ast.Name) or kept.value.id != me:
        return None
    stored = info.module.attribute_stores.get((me, kept.attr), ())
    classes = (_named(machine, info.module, value.func) for value in stored if isinstance(value, ast.Call))
    methods = (find_method(machine, one.info, func.attr) for one in classes if isinstance(one, Class))
    return next((method for method in methods if method is not None), None)


def _replaced(machine: Machine, info: FunctionInfo, func: ast.expr, of: ClassInfo | None) -> FunctionInfo | None:
    """The method of a class that a method of a base calls."""
    if of is None or info.owner is None or info.owner not in mro(machine, of) or not info.parameters:
        return None
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
        return None
    return find_method(machine, of, func.attr) if func.value.id == info.parameters[0].arg else None


def _named(machine: Machine, module: Module, name: ast.expr) -> object:
    """What is meant by a name, or by a name in another file of the project: `augment.flip`."""
    if isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name):
        owner = global_value(machine, module, name.value.id)
        if owner is None or not isinstance(owner.object, LocalModule):
            return None
        value = global_value(machine, owner.object.module, name.attr)
    else:
        value = global_value(machine, module, name.id) if isinstance(name, ast.Name) else None
    return value.object if value is not None else None
