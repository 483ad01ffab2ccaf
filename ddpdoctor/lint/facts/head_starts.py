"""Whether the ranks that make a folder are ahead of those that use it, although nothing makes these wait.

A folder is made in an instant. Ranks that were together a moment ago, and of which all but the first one run a network
before they need the folder, are late by seconds. Nothing guarantees that, but it hardly ever happens otherwise.
"""

from __future__ import annotations

from ddpdoctor.lint.facts import written_files
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.facts.touched_files import Touch
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import collectives, filesystem, heuristics
from ddpdoctor.lint.knowledge.filesystem import Use
from ddpdoctor.program.sites import SourceSite

#: methods of networks that run them
_RUN = frozenset({"forward", "generate"})


def has_head_start(facts: ModuleFacts, writer: Touch, reader: Touch, late: int) -> bool:
    """Whether some ranks only make a folder, and the others first run a network on something."""
    if writer.use is not Use.MAKES_FOLDER:
        return False
    mine = [call for call in facts.calls if call.context.calls[:1] == writer.call.context.calls[:1]]
    under = {(guard.site, guard.side) for guard in reader.call.context.guards}
    runs = any(writer.call.index < call.index < reader.call.index and _runs_network(call, late, under) for call in mine)
    return runs and not _is_held_up(facts, [call for call in mine if call.index < writer.call.index], late)


def _runs_network(call: CallEvent, late: int, under: set[tuple[SourceSite, bool]]) -> bool:
    """Whether these ranks run a network there, whenever they come to what is under those conditions."""
    if late & ~call.context.mask or not all((guard.site, guard.side) in under for guard in call.context.guards):
        return False
    return call.method in _RUN or any(name.rpartition(".")[2] == "forward" for name in call.context.calls)


def _is_held_up(facts: ModuleFacts, before: list[CallEvent], late: int) -> bool:
    """Whether the ranks that are to be first do something lengthy without the others, since all have met."""
    met = max((call.index for call in before if call.path in collectives.COLLECTIVES and not late & ~call.context.mask),
              default=-1)  # fmt: skip
    runs = {call.index for call in written_files.runs(facts)}
    alone = (call for call in before if call.index > met and not late & call.context.mask)
    return any(call.index in runs or _takes_long(call) for call in alone)


def _takes_long(call: CallEvent) -> bool:
    """Whether it downloads, or reads or writes what may be large."""
    row = filesystem.function(call.path) if call.path else filesystem.OF_OBJECTS.get(call.method)
    fetches = heuristics.DOWNLOADS.found_in(call.method or call.path.rpartition(".")[2])
    return fetches or (row is not None and row.use in (Use.FILLS, Use.READS))
