"""A text that is read like a shell script, put together from what is elsewhere. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ddpdoctor.lint.deferred.launches import Place
from ddpdoctor.model.named_tuple import NamedTuple


class Script(NamedTuple):
    """Lines of commands and texts, and where each of them is."""

    text: bytes
    places: Sequence[Place]

    @classmethod
    def of(cls, lines: Iterable[tuple[Place, str]]) -> Script:
        """The lines, with where each is."""
        said = list(lines)
        return cls("\n".join(line for _, line in said).encode(errors="replace"), [place for place, _ in said])
