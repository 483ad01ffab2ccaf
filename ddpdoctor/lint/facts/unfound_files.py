"""Files that some ranks write under a name that each process makes up, and that the others look for under their own."""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import node_local_files, touched_files
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.facts.touched_files import Touch
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge.filesystem import Use
from ddpdoctor.lint.values.tags import DRAWN_UP, Tags
from ddpdoctor.model.named_tuple import NamedTuple


class Unfound(NamedTuple):
    """Where such a file is written and read, and what is known of its path."""

    writer: CallEvent
    reader: CallEvent
    tags: Tags


def found(facts: ModuleFacts) -> Iterator[Unfound]:
    """One for each path, where it is read first."""
    touched = [touch for touch in touched_files.touches(facts) if touch.path.tags & DRAWN_UP]
    told: set[object] = set()
    for writer in (touch for touch in touched if touch.call.context.some_ranks_only and touch.use in _FILLING):
        reader = next((touch for touch in touched if node_local_files.misses(touch, writer)), None)
        if reader is None or reader.parts in told or any(_writes_too(touch, writer, reader) for touch in touched):
            continue
        told.add(reader.parts)
        yield Unfound(writer.call, reader.call, reader.path.tags)


#: uses that put something into a file, or into the files of a folder
_FILLING = frozenset({Use.WRITES_FILE, Use.FILLS, Use.MOVES})


def _writes_too(other: Touch, writer: Touch, reader: Touch) -> bool:
    """Whether ranks that read the file have written it themselves."""
    rest = reader.call.context.mask & ~writer.call.context.mask
    before = other.call.index < reader.call.index and other.use in _FILLING
    return before and other.parts == writer.parts and bool(other.call.context.mask & rest)
