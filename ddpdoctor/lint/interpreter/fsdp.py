"""Sharded models: FSDP's wrapper, and `fully_shard`, which changes its argument."""

from __future__ import annotations

from ddpdoctor.lint.interpreter import batches, container_mutation
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.invocations import FunctionCall
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.trace import Op
from ddpdoctor.lint.knowledge.aliases import FSDP
from ddpdoctor.lint.values.abstract_objects import Made, Table
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
#: give the norm of gradients; that of DTensors, which `fully_shard` makes of all parameters, is added up over the ranks
NORMS = frozenset({"torch.nn.utils.clip_grad_norm_"})
_STATE_DICT = "torch.distributed.checkpoint.state_dict"
#: read or write the state of a model by options (torch 2.13)
STATES = frozenset(
    f"{_STATE_DICT}.{verb}_{what}state_dict" for verb in ("get", "set") for what in ("", "model_", "optimizer_")
)
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


def norm(call: FunctionCall) -> Value | None:
    """The norm of all gradients of a model that was sharded in place, which is equal on all ranks."""
    model = parameters_of(call.args[0]) if call.args else None
    if model is None or not is_sharded_in_place(call.machine, model):
        return None
    call.frame.out.append(Op(call.path.rpartition(".")[2], None, call.site))
    return unknown("norm", call.site, taint=Taint.UNIFORM)


def state(call: FunctionCall) -> Value | None:
    """Nothing as a result; noted where the options ask for what all ranks have to take part in: the full state of a
    sharded model, or one rank's state on all of them."""
    options = call.keyword("options")
    asked = options.object if options is not None else None
    if not isinstance(asked, Made) or not call.args:
        return None
    full = _is_on(asked, "full_state_dict") and is_sharded(call.machine, call.args[0])
    if full or _is_on(asked, "broadcast_from_rank0"):
        call.frame.out.append(Op(call.path.rpartition(".")[2], None, call.site))
    return None


def _is_on(options: Made, name: str) -> bool:
    value = options.keyword(name)
    return value is not None and value.constant is True


def parameters_of(value: Value) -> Value | None:
    """The model whose `parameters()` a value is."""
    made = value.object
    return made.args[0] if isinstance(made, Made) and made.path == "?.parameters" and made.args else None


def holds_shards(machine: Machine, value: Value) -> bool:
    """Whether it is, or has in it, the state of a model that was sharded in place: the shards of this rank."""
    obj = value.object
    if isinstance(obj, Table):
        return any(holds_shards(machine, entry) for _, entry in obj.entries)
    state = isinstance(obj, Made) and obj.path == "?.state_dict" and bool(obj.args)
    return isinstance(obj, Made) and state and is_sharded_in_place(machine, obj.args[0])


def forward(frame: Frame, args: tuple[Value, ...], site: SourceSite) -> Value:
    """The result of a forward pass."""
    frame.out.append(Op(FORWARD, None, site))
    local = any(v.taint is Taint.RANK_LOCAL for v in args)
    tags = Tag.DDP | Tag.SHARDED | union(v.tags for v in args) & DATA
    if not local and batches.trained_on(frame, args):
        local, tags = True, tags | Tag.BATCH
    return unknown("forward", site, taint=Taint.RANK_LOCAL if local else Taint.UNKNOWN, tags=tags)
