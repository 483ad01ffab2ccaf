"""Samplers that a project has copied from torch's `DistributedSampler`, to change something in them."""

from __future__ import annotations

import ast

from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.values.abstract_objects import Instance, Made
from ddpdoctor.lint.values.values import Value, const, unknown
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.nodes import last_name, walk

#: parameters of torch's sampler that a copy has as well
_PARAMETERS = frozenset({"num_replicas", "rank", "shuffle", "seed", "drop_last"})
#: how a sampler puts its indices in another order
SHUFFLING = frozenset({"randperm", "shuffle", "permutation", "multinomial"})


def torch_sampler(obj: Instance, node: ast.Call | None) -> Made | None:
    """The call of torch's sampler that the call of a copy stands for; None if its class is no copy: a sampler that is
    told the number of replicas and the epoch, makes its order of the epoch, and is no batch sampler."""
    init, order = obj.info.methods.get("__init__"), obj.info.methods.get("__iter__")
    if init is None or order is None or "set_epoch" not in obj.info.methods or obj.site is None:
        return None
    signature = init.signature
    if not {"num_replicas", "rank"} <= set(signature.names) or signature.rest or "batch_size" in signature.names:
        return None
    words = {n.attr for n in walk(order.node) if isinstance(n, ast.Attribute)}
    if "epoch" not in words:
        return None
    given = dict(zip(signature.positional[1:], obj.args, strict=False))
    given.update(obj.keywords)
    known = {name: value for name, value in _defaults(init) if name not in given}
    known.setdefault("shuffle", _shuffles(order))
    if not _pads(obj):
        known.setdefault("drop_last", unknown("drops", obj.site))
    keywords = tuple((n, v) for n, v in (known | given).items() if n in _PARAMETERS or n in ("*", "**"))
    return Made(aliases.SAMPLER, obj.site, obj.args[:1], keywords, node)


def _shuffles(order: FunctionInfo) -> Value:
    """Whether it shuffles without being asked to; unknown where something else decides it: `permutation=False`."""
    nodes = walk(order.node)
    if any(isinstance(node, (ast.If, ast.IfExp)) for node in nodes):
        return unknown("shuffles", id(order))
    return const(any(isinstance(n, ast.Attribute) and n.attr in SHUFFLING for n in nodes))


def _pads(obj: Instance) -> bool:
    """Whether it rounds the length of a share up, and never down."""
    names = {last_name(node) for node in walk(obj.info.node) if isinstance(node, (ast.Name, ast.Attribute))}
    return "ceil" in names and "floor" not in names


def _defaults(init: FunctionInfo) -> list[tuple[str, Value]]:
    """What is given to the parameters where a call says nothing."""
    return [(n, const(d.value)) for n, d in init.signature.defaults if isinstance(d, ast.Constant)]
