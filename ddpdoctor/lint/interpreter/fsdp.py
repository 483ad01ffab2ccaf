"""Sharded models: FSDP's wrapper, and `fully_shard`, which changes its argument."""

from __future__ import annotations

from ddpdoctor.lint.interpreter import batches, container_mutation
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.invocations import FunctionCall
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.trace import Op
from ddpdoctor.lint.knowledge.aliases import FSDP
from ddpdoctor.lint.values.tags import DATA, Tag, union
from ddpdoctor.lint.values.values import Symbol, Taint, Value, unknown
from ddpdoctor.program.sites import SourceSite

#: a forward pass gathers the parameters, with or without gradients
FORWARD = "forward (FSDP)"
BACKWARD = "backward (FSDP)"
#: shard their argument in place
SHARDING = frozenset({
    "torch.distributed.fsdp.fully_shard", "torch.distributed._composable.fsdp.fully_shard",
    "torch.distributed._composable.fsdp.fully_shard.fully_shard", "torch.distributed._composable.fully_shard",
})  # fmt: skip
#: key in the heap that marks an object as sharded
_MARK = "<sharded>"


def made(call: FunctionCall, value: Value) -> Value:
    """`value`, the result of the call, tagged if it is a sharded model; `fully_shard` marks its argument as well."""
    if call.path == FSDP:
        return value.tagged(Tag.SHARDED)
    if call.path not in SHARDING or not call.args or not call.node.args:
        return value
    model = call.args[0].tagged(Tag.SHARDED)
    atom = model.atoms[0]
    if isinstance(atom, Symbol):
        call.machine.heap[(atom.key, _MARK)] = model
    container_mutation.rebind(call.machine, call.frame, call.node.args[0], model)
    return model


def is_sharded(machine: Machine, model: Value) -> bool:
    """Whether a model was wrapped, or sharded in place."""
    return bool(model.tags & Tag.SHARDED) or is_sharded_in_place(machine, model)


def is_sharded_in_place(machine: Machine, model: Value) -> bool:
    """Whether `fully_shard` was called with this model."""
    atom = model.atoms[0]
    return isinstance(atom, Symbol) and (atom.key, _MARK) in machine.heap


def forward(frame: Frame, args: tuple[Value, ...], site: SourceSite) -> Value:
    """The result of a forward pass."""
    frame.out.append(Op(FORWARD, None, site))
    local = any(v.taint is Taint.RANK_LOCAL for v in args)
    tags = Tag.DDP | Tag.SHARDED | union(v.tags for v in args) & DATA
    if not local and batches.trained_on(frame, args):
        local, tags = True, tags | Tag.BATCH
    return unknown("forward", site, taint=Taint.RANK_LOCAL if local else Taint.UNKNOWN, tags=tags)
