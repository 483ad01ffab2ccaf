"""Collectives that a signal handler of another file leads to, by the function that it was given to call."""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.trace import Op, steps
from ddpdoctor.lint.values.abstract_objects import Function
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.sites import SourceSite

#: registers a handler, its second argument
_REGISTERING = "signal.signal"
#: ends or begins the job: the first meets nothing, and the second waits for all ranks, which nobody sends a signal
_APART = frozenset({"init_process_group", "destroy_process_group"})


class Entered(NamedTuple):
    """The first collective that a handler enters."""

    op: Op
    #: where this file goes on to it
    site: SourceSite
    #: where the handler is registered
    registered: SourceSite


def led_to(facts: ModuleFacts) -> Iterator[Entered]:
    """What the handlers enter that other files register in this program, where they call functions of this file."""
    told: set[SourceSite] = set()
    for call in facts.concerning(_is_registering):
        handler = call.argument(1, "handler")
        function = handler.object if handler is not None else None
        if not isinstance(function, Function) or function.info.module is facts.module:
            continue  # what a handler of this file enters is found where that is followed by itself
        found = _first(facts, function, call)
        if found is not None and found.site not in told:
            told.add(found.site)
            yield found


def _is_registering(name: str) -> bool:
    return name == _REGISTERING


def _first(facts: ModuleFacts, function: Function, call: CallEvent) -> Entered | None:
    """The first collective of a handler, as its object was made, if this file leads to it."""
    analysis, info = facts.analysis, function.info
    unknown = analysis.parameters(info)
    bound = function.receiver is not None and not info.is_static
    args = tuple(unknown[p.arg] for p in info.parameters[1 if bound else 0 :])
    with analysis.quietly():
        frame = Frame(info.module, mask=call.context.mask, calls=("",))
        outcome = analysis.call(function, args, (), frame, call.site)
    for node, chain, _, _ in steps(outcome.trace) if outcome is not None else ():
        if isinstance(node, Op) and node.op not in _APART:
            here = next((site for site in (*chain, node.site) if site.file == facts.module.path), None)
            return Entered(node, here, call.site) if here is not None else None
    return None
