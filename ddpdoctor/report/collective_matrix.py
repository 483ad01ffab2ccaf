"""Pure. The matrix of ranks and collectives that torch's own analyzer prints, with one column for ranks that are alike.

A row is one operation of a group by its sequence number, which is how collectives are matched; rows that are complete
on all ranks are counted and left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from ddpdoctor.model.ranks import Group, Rank, RankSet
from ddpdoctor.model.recorder_set import Member, RecorderSet, Ring, Step
from ddpdoctor.report.terminal_text import Style, columns, pad

#: columns that are shown
MOST_COLUMNS = 12
#: rows that are shown
MOST_ROWS = 60
#: complete rows that are shown before the first incomplete one
_CONTEXT = 3
#: the names of columns
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

DONE, IN, QUEUED, GAVE_UP, ABSENT, UNKNOWN = "done", "in", "queued", "gave up", "-", "?"

#: role's label, whether a send or recv, sequence number, and for a send or recv its operation and peer
_Key = tuple[str, bool, int, str]


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One operation of a group, with its state in each column."""

    key: _Key
    #: indexed by column
    cells: tuple[str, ...]
    what: str

    @property
    def group(self) -> str:
        return self.key[0]

    @property
    def number(self) -> str:
        """The sequence number by which the operation is matched."""
        return f"p2p {self.key[2]}" if self.key[1] else str(self.key[2])

    @property
    def complete(self) -> bool:
        """Whether it is finished on all ranks whose rings still contain it."""
        return all(cell in (DONE, UNKNOWN, "") for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Matrix:
    """The shown columns with their ranks, the ranks of the others, and the rows from the first that matters on."""

    columns: tuple[RankSet, ...]
    hidden: tuple[RankSet, ...]
    rows: tuple[MatrixRow, ...]
    #: complete rows before, and rows behind, that are left out
    before: int
    behind: int


@dataclass(frozen=True, slots=True)
class _MatrixColumn:
    """Ranks with the same recorded operations."""

    ranks: RankSet
    cells: Mapping[_Key, tuple[str, str]]


def matrix(recorders: RecorderSet) -> Matrix | None:
    """The part of the matrix that is shown; None if no recorder contains an operation."""
    kinds = _kinds(recorders)
    shown, hidden = kinds[:MOST_COLUMNS], kinds[MOST_COLUMNS:]
    rows = _rows(shown)
    if not rows:
        return None
    first = next((n for n, row in enumerate(rows) if not row.complete), max(len(rows) - _CONTEXT, 0))
    begin = max(first - _CONTEXT, 0)
    end = min(begin + MOST_ROWS, len(rows))
    return Matrix(
        tuple(kind.ranks for kind in shown),
        tuple(kind.ranks for kind in hidden),
        tuple(rows[begin:end]),
        begin,
        len(rows) - end,
    )


def render(recorders: RecorderSet, *, width: int, style: Style) -> str:
    """The matrix as text; a line that says so if there are no operations or no dumps."""
    found = matrix(recorders)
    if found is None:
        return "no recorder contains an operation\n"
    lines = ["ranks by collectives: a row is one operation of a group; a column is the ranks with the same record", ""]
    lines += [
        f"  {letter}  {_named(ranks, width - 6, style)}" for letter, ranks in zip(LETTERS, found.columns, strict=False)
    ]
    if found.hidden:
        lines.append(f"  and {sum(map(len, found.hidden))} ranks in {len(found.hidden)} other columns")
    unseen = recorders.unseen()
    if unseen:
        lines.append(f"  no dump: {_named(unseen, width - 12, style)}")
    lines += ["", *_table(found, width, style)]
    lines += ["", "  in: is in it   queued: issued after it   -: never issued   ?: no longer in the ring"]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _named(ranks: RankSet, room: int, style: Style) -> str:
    word = "rank " if len(ranks) == 1 else "ranks"
    return style.cut(f"{word} {ranks}", room - 8) + f"  ({len(ranks)})"


def _kinds(recorders: RecorderSet) -> list[_MatrixColumn]:
    """Ranks by the content of their column, the largest set first."""
    by_ring: dict[tuple[Ring, tuple[str, ...]], list[Rank]] = {}
    for rank, member in recorders.members.items():
        by_ring.setdefault((member.ring, _labels(member, recorders.world_size)), []).append(rank)
    kinds = [
        _MatrixColumn(RankSet.of(ranks), _cells(recorders.members[ranks[0]], labels))
        for (_, labels), ranks in by_ring.items()
    ]
    return sorted(kinds, key=lambda kind: (-len(kind.ranks), kind.ranks.members))


def _labels(member: Member, world: int) -> tuple[str, ...]:
    """What a group is to the rank: its description, such as `mesh_dp`, which all groups of one kind share."""
    labels = [_label(group, world) for group in member.groups]
    return tuple(
        f"{label}.{labels[:n].count(label) + 1}" if labels.count(label) > 1 else label for n, label in enumerate(labels)
    )


def _label(group: Group, world: int) -> str:
    if group.name == "0" or (group.description == "default_pg" and len(group.members) == world):
        return "default"
    return group.description if group.description not in ("", "undefined") else f"group {group.name}"


def _cells(member: Member, labels: Sequence[str]) -> Mapping[_Key, tuple[str, str]]:
    """(state, operation) of each operation in the ring, in order."""
    found: dict[_Key, tuple[str, str]] = {}
    standing = False
    for step in member.ring.steps:
        state = DONE if step.finished else GAVE_UP if step.timed_out else QUEUED if standing else IN
        standing = standing or not step.finished
        pair = f"{step.op} {step.peer}" if step.p2p else ""
        found[(labels[step.role], step.p2p, step.seq, pair)] = (state, _what(member, step))
    return found


def _what(member: Member, step: Step) -> str:
    where = f"  {PurePath(step.site.file).name}:{step.site.line}" if step.site else ""
    sizes = "x".join(map(str, step.sizes[0])) if len(step.sizes) == 1 else f"{len(step.sizes)} tensors"
    members = member.groups[step.role].members
    peer = ""
    if step.peer is not None:
        peer = f" {'to' if step.op == 'send' else 'from'} {members[step.peer] if step.peer < len(members) else '?'}"
    return f"{step.op}{peer} [{sizes if step.sizes else ''}]{where}"


def _rows(kinds: Sequence[_MatrixColumn]) -> list[MatrixRow]:
    """All operations in an order that is consistent with every ring, if there is one."""
    order: dict[_Key, None] = {}
    for kind in kinds:
        order = _merged(list(order), list(kind.cells))
    ends = [_ends(kind) for kind in kinds]
    rows = []
    for key in order:
        usual = next(kind.cells[key][1] for kind in kinds if key in kind.cells)
        cells = tuple(_cell(kind, end, key, usual) for kind, end in zip(kinds, ends, strict=True))
        rows.append(MatrixRow(key, cells, usual))
    return rows


def _merged(left: list[_Key], right: list[_Key]) -> dict[_Key, None]:
    """Both orders combined: what only the right one has comes before the next key that both have."""
    known = set(left)
    before: dict[_Key | None, list[_Key]] = {}
    waiting: list[_Key] = []
    for key in right:
        if key in known:
            before[key] = waiting
            waiting = []
        else:
            waiting.append(key)
    merged: dict[_Key, None] = {}
    for key in left:
        merged.update(dict.fromkeys((*before.get(key, ()), key)))
    merged.update(dict.fromkeys(waiting))
    return merged


def _ends(kind: _MatrixColumn) -> Mapping[tuple[str, bool], tuple[int, int]]:
    """The first and the last sequence number of each group in the ring."""
    ends: dict[tuple[str, bool], tuple[int, int]] = {}
    for label, p2p, seq, _ in kind.cells:
        first, last = ends.get((label, p2p), (seq, seq))
        ends[(label, p2p)] = (min(first, seq), max(last, seq))
    return ends


def _cell(kind: _MatrixColumn, ends: Mapping[tuple[str, bool], tuple[int, int]], key: _Key, usual: str) -> str:
    if key in kind.cells:
        state, what = kind.cells[key]
        return state if what == usual else f"{state}: {what}"
    if key[1]:
        return ""
    span = ends.get(key[:2])
    return ABSENT if span is not None and key[2] > span[1] else UNKNOWN if span is None or key[2] < span[0] else ""


def _table(found: Matrix, width: int, style: Style) -> Iterator[str]:
    head = ("group", "number", "operation", *LETTERS[: len(found.columns)])
    body = [(row.group, row.number, row.what, *row.cells) for row in found.rows]
    widths = [max(columns(style.line(cell)) for cell in column) for column in zip(head, *body, strict=True)]
    widths[2] = min(widths[2], max(20, width - sum(widths) + widths[2] - 2 * len(widths)))
    yield _line(head, widths, style)
    if found.before:
        yield f"  ... {found.before} before, complete in every ring that still contains them"
    for cells in body:
        yield _line(cells, widths, style)
    if found.behind:
        yield f"  ... {found.behind} more"


def _line(cells: Iterable[str], widths: Sequence[int], style: Style) -> str:
    return "  " + "  ".join(pad(style.cut(style.line(c), w), w) for c, w in zip(cells, widths, strict=True))
