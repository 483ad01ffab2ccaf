"""Forms of sentences, and how a text is taken apart into them.

A form is a sentence with slots, `{name:type argument ...}`; the arguments name other slots of the form, most often the
ranks of which the slot is claimed. `[is|are]` is one of several words, `[...|]` may be missing.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.statements.claims import PLACE, RANKS, TYPES, Case

_SLOT = re.compile(r"\{(?P<name>\w+):(?P<type>\w+)(?P<args>(?: \w+)*)\}|\[(?P<words>[^\]]*\|[^\]]*)\]")
#: where a sentence, or a part of one, may end; also within a place or a message, so every end is tried
_END = re.compile(r"[.;](?:\s+|$)|$")
#: of what has no form, this must not be in it
_NAMES = re.compile(rf"\b{RANKS}|{PLACE}|(?<![\w./-])\d+(?![\w-])")
_QUOTED = re.compile(r"`[^`]*`|\(DD\d+\)|DD\d+")


@dataclass(frozen=True, slots=True)
class Slot:
    name: str
    type: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """A known form of sentence."""

    text: str
    pattern: re.Pattern[str]
    slots: tuple[Slot, ...]

    def faults(self, found: re.Match[str], case: Case) -> Iterator[str]:
        """What the evidence contradicts in a sentence of this form."""
        for slot in self.slots:
            arguments = [found[name] for name in slot.arguments]
            if found[slot.name] is not None and (wrong := TYPES[slot.type].check(case, found[slot.name], *arguments)):
                yield wrong


@functools.cache
def form(text: str) -> Form:
    """Compile a form. Raises KeyError for an unknown type, ValueError for an argument that is no slot of the form."""
    pattern, slots, end = "", [], 0
    for part in _SLOT.finditer(text):
        pattern += re.escape(text[end : part.start()])
        end = part.end()
        if part["words"] is not None:
            pattern += f"(?:{'|'.join(re.escape(word) for word in part['words'].split('|'))})"
        else:
            slot = Slot(part["name"], part["type"], tuple(part["args"].split()))
            slots.append(slot)
            pattern += f"(?P<{slot.name}>{TYPES[slot.type].pattern})"
    pattern += re.escape(text[end:])
    if not {one for slot in slots for one in slot.arguments} <= {slot.name for slot in slots}:
        raise ValueError(f"an argument is no slot: {text}")
    return Form(text, re.compile(pattern, re.DOTALL), tuple(slots))


@dataclass(frozen=True, slots=True)
class Sentence:
    """A part of a text: a match of a form, or one that names nothing that could be checked."""

    text: str
    form: Form | None
    match: re.Match[str] | None

    @property
    def unchecked(self) -> int:
        """The length of what is free text in it."""
        if self.form is None or self.match is None:
            return 0
        return sum(len(self.match[slot.name]) for slot in self.form.slots if slot.type == "text")


def names(text: str) -> bool:
    """Ranks, lines or counts are named."""
    return _NAMES.search(_QUOTED.sub("", text)) is not None


def take_apart(text: str, forms: Sequence[Form]) -> list[list[Sentence]]:
    """Every way to read a text as sentences of known forms; empty if there is none."""
    return list(_readings(text, 0, tuple(forms)))


def _readings(text: str, start: int, forms: tuple[Form, ...]) -> Iterator[list[Sentence]]:
    if start >= len(text):
        yield []
        return
    for end in _END.finditer(text, start):
        part = text[start : end.start()]
        found = [Sentence(part, one, match) for one in forms if (match := one.pattern.fullmatch(part))]
        if not found and not names(part):
            found = [Sentence(part, None, None)]
        if found:
            for rest in _readings(text, end.end(), forms):
                yield from ([one, *rest] for one in found)
