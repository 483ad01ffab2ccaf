"""Device meshes: their groups, and the places of ranks in them (torch.distributed.device_mesh of torch 2.13)."""

from __future__ import annotations

from ddpdoctor.lint.interpreter.collective_calls import EVERYONE
from ddpdoctor.lint.interpreter.invocations import MethodCall
from ddpdoctor.lint.values.abstract_objects import GroupOf
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import RANK_NUMBERS, WORLD_NUMBER, Taint, Value, of_object, unknown

#: methods that are known here
METHODS = frozenset({"get_group", "get_local_rank", "get_rank", "size"})


def method(call: MethodCall) -> Value | None:
    """The group of a mesh, the rank, the place of this rank in the mesh, its size; None if it is no mesh."""
    mesh = call.receiver.object
    if not isinstance(mesh, GroupOf):
        return None
    if call.name == "get_rank":
        return RANK_NUMBERS
    whole = mesh.members == EVERYONE
    if call.name == "get_group":
        return call.receiver if whole else _group_of(call) if mesh.several else None
    if call.name == "size":
        return WORLD_NUMBER if whole else None
    if whole:
        return RANK_NUMBERS
    return unknown("mesh rank", call.receiver.atoms, call.given, taint=Taint.RANK, tags=Tag.IN_GROUP)


def _group_of(call: MethodCall) -> Value:
    """The group of this rank along a dimension of a mesh."""
    return of_object(GroupOf(None, several=True), "group of", call.receiver.atoms, *(v.atoms for v in call.given))
