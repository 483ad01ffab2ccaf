"""Pure. Merges ranks that do the same thing at the same place into one row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.report import RankStatus
from ddpdoctor.report.call_text import call_of
from ddpdoctor.report.terminal_text import Style, Tint, columns, pad

_TINTS = {
    "stopped": Tint.ALARM,
    "exited": Tint.ALARM,
    "working": Tint.WARN,
    "still": Tint.WARN,
    "unclear": Tint.WARN,
    "unseen": Tint.WARN,
}
#: hosts that a row names
_NAMED_HOSTS = 2
#: columns for the line of source, tried in this order
_SOURCE_ROOMS = (72, 44, 36, 28, 20, 0)


@dataclass(frozen=True, slots=True)
class RankRow:
    """Ranks in the same state, at the same line, with the same label."""

    ranks: RankSet
    state: str
    label: str
    file: str
    line: int
    source: str
    #: the hosts that they run on, in the order of their ranks; empty in a job that was seen on one
    hosts: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """`on node-1`, `on 12 nodes`; "" in a job that was seen on one host."""
        if len(self.hosts) > _NAMED_HOSTS:
            return f"on {len(self.hosts)} nodes"
        return f"on {', '.join(self.hosts)}" if self.hosts else ""

    @property
    def place(self) -> str:
        """`train.py:88`, "" if no line is known."""
        return f"{self.file.rpartition('/')[2]}:{self.line}" if self.file else ""


def merge(statuses: Iterable[RankStatus], culprits: RankSet) -> tuple[RankRow, ...]:
    """One row per behaviour, larger ones first; the culprits' rows come last, next to the code frame that follows."""
    merged: dict[tuple[bool, str, str, str, int, str], list[int]] = {}
    statuses = tuple(statuses)
    hosts = {status.rank: status.host for status in statuses if status.host}
    if len(set(hosts.values())) < 2:
        hosts = {}
    for status in statuses:
        where = status.location
        place = (where.file, where.line, where.source) if where else ("", 0, "")
        merged.setdefault((status.rank in culprits, status.state, status.label, *place), []).append(status.rank)
    rows = [
        RankRow(RankSet.of(ranks), state, label, file, line, source, _hosts(sorted(ranks), hosts))
        for (_, state, label, file, line, source), ranks in merged.items()
    ]
    return tuple(sorted(rows, key=lambda row: (_is_culprit_row(row, culprits), -len(row.ranks), row.ranks.members)))


def _hosts(ranks: Iterable[int], hosts: Mapping[Rank, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(hosts[Rank(rank)] for rank in ranks if rank in hosts))


def table(rows: tuple[RankRow, ...], culprits: RankSet, *, most: int, width: int, style: Style) -> list[str]:
    """The rows as aligned columns. On a narrow terminal the source is shortened first, then the label moves to the next
    line.

    If there are more than `most` rows, the culprits' rows and the largest others are kept.
    """
    shown = _shown_rows(rows, culprits, most)
    painted = _painted(shown, culprits, width, style)
    if len(shown) < len(rows):
        hidden = sum(len(row.ranks) for row in rows) - sum(len(row.ranks) for row in shown)
        painted.append(f"  {style.ellipsis} and {hidden} more ranks in {len(rows) - len(shown)} other places")
    return painted


def _painted(rows: Sequence[RankRow], culprits: RankSet, width: int, style: Style) -> list[str]:
    """One line for each row where that fits the width, else two."""
    cells = [_cells(row, style) for row in rows]
    for room in _SOURCE_ROOMS:
        lines = _columns([_fields(cell, room, style) for cell in cells])
        if all(columns(line) <= width for line in lines):
            return [_mark(line, row, culprits, style) for line, row in zip(lines, rows, strict=True)]
    return [line for row, cell in zip(rows, cells, strict=True) for line in _stacked(row, cell, culprits, width, style)]


@dataclass(frozen=True, slots=True)
class _Cells:
    state: str
    word: str
    ranks: str
    count: str
    host: str
    place: str
    source: str
    label: str


def _cells(row: RankRow, style: Style) -> _Cells:
    return _Cells(
        state=style.line(row.state),
        word="ranks" if len(row.ranks) > 1 else "rank",
        ranks=style.cut(str(row.ranks), 24),
        count=f"({len(row.ranks)})",
        host=style.cut(row.where, 32),
        place=style.line(row.place),
        source=style.line(row.source),
        label=style.line(row.label),
    )


def _fields(cell: _Cells, room: int, style: Style) -> list[str]:
    line = cell.source if columns(cell.source) <= room else call_of(cell.source, cell.label) or cell.source
    source = style.cut(line, room) if room else ""
    return [cell.state, f"{cell.word:<5} {cell.ranks}", cell.count, cell.host, cell.place, source, cell.label]


def _columns(table: list[list[str]]) -> list[str]:
    widths = [max(columns(row[i]) for row in table) for i in range(len(table[0]))] if table else []
    return ["  " + "  ".join(pad(cell, w) for cell, w in zip(row, widths, strict=True) if w).rstrip() for row in table]


def _stacked(row: RankRow, cell: _Cells, culprits: RankSet, width: int, style: Style) -> list[str]:
    parts = (cell.state, f"{cell.word} {cell.ranks}", cell.count, cell.host, cell.place)
    first = style.cut("  " + "  ".join(filter(None, parts)), width)
    return [_mark(first, row, culprits, style), *(f"      {line}" for line in style.wrap(cell.label, width - 6))]


def _mark(line: str, row: RankRow, culprits: RankSet, style: Style) -> str:
    """A `>` in the margin of the culprits' rows, and the state in its colour."""
    end = 2 + columns(style.line(row.state))
    state = style.paint(line[2:end], _TINTS.get(row.state, Tint.PLAIN))
    margin = style.paint("> ", Tint.ALARM) if _is_culprit_row(row, culprits) else "  "
    return margin + state + line[end:]


def _is_culprit_row(row: RankRow, culprits: RankSet) -> bool:
    return any(rank in culprits for rank in row.ranks)


def _shown_rows(rows: tuple[RankRow, ...], culprits: RankSet, most: int) -> tuple[RankRow, ...]:
    if len(rows) <= most:
        return rows
    guilty = [row for row in rows if _is_culprit_row(row, culprits)][: most - 1]
    innocent = [row for row in rows if not _is_culprit_row(row, culprits)][: most - len(guilty)]
    return (*innocent, *guilty)
