"""False versions of a statement: two sets of ranks exchanged, a line shifted, a count changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from tests.statements.claims import PLACE, RANKS

_QUOTED = re.compile(r"`[^`]*`")
_COUNT = re.compile(
    r"(?<![\w:./,-])(?<!rank )(?<!ranks )\d+"
    r"(?= (?:batch|forward|backward|StopIteration|under|synchronising|time|elements|left))"
)


def swapped(text: str) -> Iterator[str]:
    """Two different sets of ranks have changed places, everywhere."""
    found = sorted({found[0].split(" ")[1] for found in re.finditer(RANKS, text)})
    for one, other in combinations(found, 2):
        exchange = {one: other, other: one}

        def by_other(match: re.Match[str], exchange: dict[str, str] = exchange) -> str:
            word, members = match[0].split(" ")
            now = exchange.get(members, members)
            return f"{word[:4]}{'' if now.isdigit() else 's'} {now}"

        yield re.sub(RANKS, by_other, text)


def shifted(text: str) -> Iterator[str]:
    """One place is a line further down."""
    quoted = [found.span() for found in _QUOTED.finditer(text)]
    for found in re.finditer(PLACE, text):
        if not any(start <= found.start() < end for start, end in quoted):
            file, line = found[0].rsplit(":", 1)
            yield f"{text[: found.start()]}{file}:{int(line) + 1}{text[found.end() :]}"


def miscounted(text: str) -> Iterator[str]:
    """One count is higher by one."""
    for found in _COUNT.finditer(text):
        yield f"{text[: found.start()]}{int(found[0]) + 1}{text[found.end() :]}"


MUTATIONS = {"ranks exchanged": swapped, "line shifted": shifted, "count changed": miscounted}
