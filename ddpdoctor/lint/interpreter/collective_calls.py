"""Collective operations: their group, and which of their results are equal on every rank."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter.classes import external_bases
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.invocations import FunctionCall
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.overwrites import overwrite, reduced_to_root
from ddpdoctor.lint.interpreter.results import made_by
from ddpdoctor.lint.interpreter.trace import Op, Transfer
from ddpdoctor.lint.knowledge import aliases, collectives, frameworks
from ddpdoctor.lint.knowledge.collectives import Collective
from ddpdoctor.lint.values import containers
from ddpdoctor.lint.values.abstract_objects import GroupOf, Items, Made, Method
from ddpdoctor.lint.values.tags import NO_TAGS, Tag, Tags
from ddpdoctor.lint.values.values import WORLD, Keywords, Taint, Value, of_object, unknown
from ddpdoctor.model import c10d
from ddpdoctor.model.kinds import Kind
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.sites import SourceSite

#: the members of a group of which nothing is known
_UNKNOWN = "unknown"
#: all ranks of the simulated job
EVERYONE = tuple(range(WORLD))


def group_members(group: Value | None) -> tuple[int, ...] | str | None:
    """Members of a group argument: None for the default group, _UNKNOWN if they are not known."""
    if group is None or (group.known and group.constant is None):
        return None
    if isinstance(group.object, GroupOf):
        return group.object.members if group.object.members is not None else _UNKNOWN
    return _UNKNOWN


def enter_collective(call: FunctionCall, spec: Collective) -> Value:
    """What a collective gives. It goes into the trace; what it overwrites is then the same on every rank, or, where
    nothing is known of the group, no longer what each rank had."""
    members = _members(call, spec)
    if not spec.pairwise and not isinstance(members, str) and not _is_alone(call, spec):
        call.frame.out.append(Op(spec.op, members, call.site, _ranks_of(call) if spec.op == "new_group" else ""))
    if spec.pairwise:
        call.frame.out.append(_transfer(call))
    _write(call, spec, members)
    gathers = Tag.GATHERED if spec.op in collectives.GATHERING and members is None else NO_TAGS
    if gathers and spec.overwrites:
        _gathered(call)
    if call.path in collectives.EXCHANGES:
        return _exchanged(call)
    if spec.op == "new_group":
        return _new_group(call)
    if call.path in collectives.WRAPPERS:
        of_group = group_members(_group_of(call.keywords)) not in (None, EVERYONE)
        return made_by(call).tagged(Tag.DDP | Tag.WRAPPED | (Tag.OF_GROUP if of_group else NO_TAGS))
    if spec.returns_uniform and members is None:
        result = unknown("result", call.site, id(call.node)).atoms[0]
        return Value((result._replace(taint=Taint.UNIFORM),), Taint.UNIFORM, None, gathers)
    return made_by(call).with_tags(NO_TAGS)


def _gathered(call: FunctionCall) -> None:
    """What a call has filled holds the ranks' parts in the order of their numbers."""
    output = call.node.args[0] if call.node.args else None
    if isinstance(output, ast.Name) and output.id in call.frame.env:
        kept = Tag.GATHERED | (Tag.NO_GRADIENT if _cuts_off(call) else NO_TAGS)
        call.frame.env[output.id] = call.frame.env[output.id].tagged(kept)


def _cuts_off(call: FunctionCall) -> bool:
    """Whether what a wrapped model gave is gathered so that no gradient flows back to it, and nothing shows that this
    is meant: it is detached, or this rank's own is put back in its place."""
    given, function = call.argument(1, "tensor"), call.frame.function
    # what the model gave without gradients is not known to be of a batch
    if given is None or given.taint is not Taint.RANK_LOCAL or not given.tags & Tag.DDP:
        return False
    if function is None or call.frame.no_grad or _is_detached(given) or _has_backward(call):
        return False
    return not any(isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) for n in walk(function.node))


#: gather so that gradients flow back
_WITH_GRADIENT = ("torch.distributed.nn.", "torch.distributed._functional_collectives.")


def _has_backward(call: FunctionCall) -> bool:
    """Whether it has a backward of torch's, or is called by an operation with one of its own."""
    owner = call.frame.function.owner if call.frame.function is not None else None
    own = owner is not None and aliases.OPERATION in external_bases(call.machine, owner)
    return own or call.path.startswith(_WITH_GRADIENT)


def _is_detached(value: Value) -> bool:
    """Whether it is `x.detach()` or `x.data`, in whatever form."""
    obj = value.object
    while isinstance(obj, Method):
        if obj.name in ("detach", "detach_", "data"):
            return True
        obj = obj.receiver.object
    return False


def _exchanged(call: FunctionCall) -> Value:
    """What the other ranks have sent to this one: as much as they decided, where the call is told the sizes."""
    position = collectives.EXCHANGES[call.path]
    sizes = call.argument(position, "output_split_sizes")
    tags = Tag.UNEVEN if sizes is not None and sizes.taint is Taint.RANK_LOCAL else NO_TAGS
    output = call.node.args[0] if call.node.args else None
    received = unknown("exchanged", call.site, taint=Taint.RANK_LOCAL, tags=tags)
    if position > 1 and isinstance(output, ast.Name) and output.id in call.frame.env:
        call.frame.env[output.id] = received
    return made_by(call).with_tags(NO_TAGS) if call.path in _IN_PLACE else received


#: gives nothing, or what to wait for
_IN_PLACE = ("torch.distributed.all_to_all_single",)


#: which argument names the other rank
_PEERS = {Kind.SEND: "dst", Kind.RECV: "src"}


def _transfer(call: FunctionCall) -> Transfer:
    """The transfer that a call is, as far as its arguments show; those of other groups count ranks otherwise."""
    row = c10d.FUNCTIONS.get(call.path.rpartition(".")[2])
    name = _PEERS.get(row.kind, "") if row is not None and row.kind is not None else ""
    peer = call.argument(row.position(name), name) if row is not None and name else None
    tag = call.argument(row.position("tag"), "tag") if row is not None else None
    whole = _members(call, _PLAIN) is None and not any(k.startswith("group_") for k, _ in call.keywords)
    if row is None or peer is None or not whole or "object" in row.name:
        return Transfer("", (), (0,), call.site)
    return Transfer(row.name, peer.atoms, (0,) if tag is None else tag.atoms, call.site)


_PLAIN = Collective("send", 2)


#: wait for as many processes as their fourth argument says
_MADE_BY_SIZE = frozenset({"init_process_group", "init_rpc"})


def _members(call: FunctionCall, spec: Collective) -> tuple[int, ...] | str | None:
    """Members of the call's group, as of `group_members`."""
    if spec.op in _MADE_BY_SIZE and (those := _of_a_part(call)) is not None:
        return those
    group = _group_of(call.keywords)
    if group is None and 0 <= spec.group < len(call.args):
        group = call.args[spec.group]
    return _UNKNOWN if group is None and call.opaque else group_members(group)


def _group_of(keywords: Keywords) -> Value | None:
    return next((v for k, v in keywords if k in ("group", "process_group", "device_mesh")), None)


def _of_a_part(call: FunctionCall) -> tuple[int, ...] | None:
    """The ranks that come here, if what is made is for as many: `init_process_group(world_size=2)`, for two."""
    size = call.argument(3, "world_size")
    those = _those_here(call.frame)
    return those if size is not None and size.constant == len(those) < WORLD else None


def _those_here(frame: Frame) -> tuple[int, ...]:
    return tuple(rank for rank in range(WORLD) if frame.mask & 1 << rank)


def averaging(machine: Machine, frame: Frame, tags: Tags) -> tuple[int, ...] | None:
    """The ranks that average gradients in the backward pass of a wrapped model, None for all of them. If nothing says
    who is in the group that its wrapper was given, they are those that come here."""
    if not tags & Tag.OF_GROUP:
        return None
    wrapped = (call for call in machine.calls if call.path in collectives.WRAPPERS)
    groups = {group_members(_group_of(call.keywords)) for call in wrapped}
    members = groups.pop() if len(groups) == 1 else _UNKNOWN
    those = _those_here(frame) if members is None or isinstance(members, str) else members
    return those if len(those) < WORLD else None


def _is_alone(call: FunctionCall, spec: Collective) -> bool:
    """Called so that it waits for nobody: a group made locally, a checkpoint that each process saves by itself, a
    tensor of which each rank keeps its own part."""
    word = "use_local_synchronization" if spec.op == "new_group" else "no_dist"
    return any(
        (k == word and v.constant is not False) or (k == "src_data_rank" and type(v.constant) is not int)
        for k, v in call.keywords
    )


def _new_group(call: FunctionCall) -> Value:
    if call.path.endswith(".init_device_mesh"):
        return of_object(GroupOf(_meshed(call), _has_rows(call)), call.site)
    ranks = call.argument(0, "ranks")
    if ranks is None or (ranks.known and ranks.constant is None):
        everyone = EVERYONE if call.path.endswith(".new_group") else None
        return of_object(GroupOf(everyone), call.site)
    members = _listed_ranks(ranks)
    return of_object(GroupOf(members, members is None and _is_one_of_several(call)), call.site)


def _has_rows(call: FunctionCall) -> bool:
    """Whether a mesh has several dimensions, so that the groups along one of them are several."""
    shape = call.argument(1, "mesh_shape")
    sizes = containers.parts_of(shape) if shape is not None else None
    return sizes is not None and sum(size.constant != 1 for size in sizes) > 1


def _is_one_of_several(call: FunctionCall) -> bool:
    """Whether a loop makes a group in each turn, of ranks that depend on the turn."""
    loop = call.frame.loops[-1].node if call.frame.loops else None
    named = next((keyword.value for keyword in call.node.keywords if keyword.arg == "ranks"), None)
    ranks = call.node.args[0] if call.node.args else named
    if ranks is None or not isinstance(loop, (ast.For, ast.ListComp, ast.GeneratorExp, ast.DictComp)):
        return False
    nodes = walk(loop)
    own = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    in_each = any(isinstance(n, ast.List) and any(isinstance(e, ast.Constant) for e in n.elts) for n in nodes)
    return not in_each and any(isinstance(n, ast.Name) and n.id in own for n in walk(ranks))


def _meshed(call: FunctionCall) -> tuple[int, ...] | None:
    """The ranks of a mesh of one dimension, if it has all of them."""
    shape = call.argument(1, "mesh_shape")
    return EVERYONE if shape is not None and shape.constant == (WORLD,) else None


def _ranks_of(call: FunctionCall) -> str:
    """The ranks of a new group as a message shows them, "" if they are not known."""
    ranks = call.argument(0, "ranks")
    members = _listed_ranks(ranks) if ranks is not None else None
    return str([*members]) if members else ""


#: give the elements of their argument
_SEQUENCES = frozenset({"builtins.list", "builtins.tuple", "builtins.sorted"})
#: the largest range of ranks that is listed
_MOST_RANKS = 4096


def _listed_ranks(ranks: Value) -> tuple[int, ...] | None:
    """The ranks of a list, if all ranks name the same."""
    named = {listed_ranks(ranks, rank) for rank in range(WORLD)}
    return named.pop() if len(named) == 1 else None


def listed_ranks(ranks: Value, by: int) -> tuple[int, ...] | None:
    """The ranks of a list as a rank names them, None if they are not known."""
    made = ranks.object
    if isinstance(made, Made) and made.path in _SEQUENCES and len(made.args) == 1:
        return listed_ranks(made.args[0], by)
    if isinstance(made, Made) and made.path == "builtins.range":
        # `range(world_size)` is all ranks of the simulated job
        bounds = [atom for bound in made.args if type(atom := bound.at(by)) is int and atom <= _MOST_RANKS]
        return tuple(range(*bounds)) or None if len(bounds) == len(made.args) <= 2 else None
    items = ranks.object.items if isinstance(ranks.object, Items) else None
    named = [atom for item in items or () if isinstance(atom := item.at(by), int)]
    return tuple(named) if items is not None and len(named) == len(items) else None


def _write(call: FunctionCall, spec: Collective, members: tuple[int, ...] | str | None) -> None:
    """What it leaves in its arguments."""
    taint = Taint.UNKNOWN if isinstance(members, str) else Taint.UNIFORM
    for position, name in spec.overwrites:
        given = _given(call.node, position, name)
        if given is not None:
            overwrite(call.frame, given, taint)
    if spec.op in collectives.GIVES_PARTS:
        given = _given(call.node, 0, collectives.FILLS[spec.op])
        if given is not None:
            overwrite(call.frame, given, Taint.RANK_LOCAL, Tag.EVEN_SHARE)
    if call.path == collectives.REDUCE and members is None:
        _reduced(call)


def _given(node: ast.Call, position: int, name: str) -> ast.expr | None:
    if position < len(node.args):
        return node.args[position]
    return next((k.value for k in node.keywords if k.arg == name), None)


def _reduced(call: FunctionCall) -> None:
    """What a sum over the ranks leaves in the tensor, if it is known which rank it is for, and that it is the same one
    whatever is summed up."""
    tensor, root = _given(call.node, 0, "tensor"), call.argument(1, "dst")
    if tensor is not None and root is not None and type(root.constant) is int:
        reduced_to_root(call.frame, tensor)


def enter_method(frame: Frame, spec: Collective, site: SourceSite) -> Value:
    """Enter a collective method of a framework's object; a backward under `no_sync` communicates nothing."""
    if not (spec.op.startswith("backward") and frameworks.UNSHARED & set(frame.withs)):
        frame.out.append(Op(spec.op, None, site))
    return unknown("result", site, taint=Taint.UNIFORM if spec.returns_uniform else Taint.UNKNOWN)
