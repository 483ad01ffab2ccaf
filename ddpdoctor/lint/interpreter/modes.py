"""Whether a network trains or evaluates: what `train()` and `eval()` leave in the `training` of it and its parts.

A network's parts have its mode. What runs in a method of it, and of what it calls, inherits the mode through the frame,
except where a part was put into another one itself.
"""

from __future__ import annotations

from ddpdoctor.lint.interpreter.classes import external_bases
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.invocations import MethodCall
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.values.abstract_objects import Instance, Made
from ddpdoctor.lint.values.join import left_alone
from ddpdoctor.lint.values.tags import NO_TAGS
from ddpdoctor.lint.values.values import EVERY_RANK, FALSE, TRUE, WORLD, Taint, Value, const, symbol_key

#: the attribute that says it
TRAINING = "training"
#: the methods that change it
CHANGING = frozenset({"train", "eval"})


def changed(call: MethodCall, network: Value) -> None:
    """Store what `train()`, `train(mode)` or `eval()` leaves, on the ranks that call it."""
    key = symbol_key(network)
    if key is None or call.name not in CHANGING:
        return
    mode = call.argument(0, "mode")
    value = FALSE if call.name == "eval" else TRUE if mode is None else mode
    frame = call.frame
    if frame.mask != EVERY_RANK:
        others = left_alone(key, TRAINING)
        atoms = tuple(value.at(rank) if frame.mask & 1 << rank else others for rank in range(WORLD))
        value = Value(atoms, Taint.RANK, None, NO_TAGS)
    frame.stores[(key, TRAINING)] = value
    call.machine.heap[(key, TRAINING)] = value
    call.machine.modes = True


def of(machine: Machine, frame: Frame, network: Value) -> Value | None:
    """The network's mode here, if the ranks that come here have the same one; None if nothing says it."""
    if not machine.modes:
        return None
    value = _own(machine, network)
    value = frame.mode if value is None else value
    if value is None or len(value.atoms) == 1:
        return value
    here = {value.at(rank) for rank in range(WORLD) if frame.mask & 1 << rank}
    one = here.pop() if len(here) == 1 else None
    return const(one) if isinstance(one, bool) else None


def inside(machine: Machine, frame: Frame, receiver: Value | None) -> Value | None:
    """The mode in which a method of `receiver`, or a function, runs that is called here."""
    own = of(machine, frame, receiver) if machine.modes and receiver is not None else None
    return own if own is not None else frame.mode


def known(machine: Machine, frame: Frame, given: list[Value]) -> object:
    """What tells calls with the same arguments apart: the modes in which those are."""
    if not machine.modes:
        return None
    return (frame.mode, tuple([_own(machine, value) for value in given]))


def has_mode(machine: Machine, obj: Instance) -> bool:
    """Whether an object of this class is a network."""
    return "torch.nn.Module" in external_bases(machine, obj.info)


def _own(machine: Machine, network: Value) -> Value | None:
    if not isinstance(network.object, (Instance, Made)):
        return None
    key = symbol_key(network)
    return machine.heap.get((key, TRAINING)) if key is not None else None
