"""What `watch` shows of a running job on a terminal: one line, or a table with a row for ranks that are alike."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.observe.pace import NOTICED, Head
from ddpdoctor.report.terminal_text import Screen, Tint, columns, pad

if TYPE_CHECKING:
    from ddpdoctor.observe.watcher import Seen

_NAME = "ddpdoctor"


def line(seen: Seen, running: float, now: float, screen: Screen) -> str:
    """One line of at most `screen.width` columns; what matters least is left out first. `running` is in seconds, `now`
    CLOCK_MONOTONIC."""
    style = screen.style
    parts = _parts(seen, running, now)
    gap = f" {style.bar} "
    while len(parts) > 1 and columns(gap.join((_NAME, *(text for _, text, _ in parts)))) > screen.width:
        parts.remove(max(parts, key=lambda part: part[0]))
    plain = gap.join((_NAME, *(text for _, text, _ in parts)))
    if columns(plain) > screen.width:
        return style.cut(plain, screen.width)
    painted = [style.paint(_NAME, Tint.LABEL), *(style.paint(text, tint) for _, text, tint in parts)]
    return style.paint(gap, Tint.FAINT).join(painted)


def table(seen: Seen, running: float, now: float, screen: Screen, rows: int) -> list[str]:
    """The line, and below it at most `rows - 1` rows for ranks that have come equally far, those behind first."""
    style, heads = screen.style, sorted(seen.pace.heads, key=lambda head: (head.reached, head.rank))
    alike = [list(some) for _, some in itertools.groupby(heads, key=lambda head: head.reached)]
    found = [("ranks", "steps", "backwards", "forwards", "last progress"), *(_row(some, now) for some in alike)]
    if len(found) > rows - 1:
        rest = [head for some in alike[rows - 3 :] for head in some]
        found = [*found[: rows - 2], (f"{len(rest)} more ranks", "", "", "", "")]
    widths = [max(len(row[column]) for row in found) for column in range(5)]
    texts = [style.cut("  ".join(pad(*pair) for pair in zip(row, widths, strict=True)), screen.width) for row in found]
    return [line(seen, running, now, screen), style.paint(texts[0], Tint.FAINT), *texts[1:]]


def _row(heads: list[Head], now: float) -> tuple[str, str, str, str, str]:
    steps, backwards, forwards = heads[0].reached
    ranks = str(RankSet.of(Rank(head.rank) for head in heads))
    return ranks, str(steps), str(backwards), str(forwards), f"{_span(now - max(h.moved for h in heads))} ago"


def _parts(seen: Seen, running: float, now: float) -> list[tuple[int, str, Tint]]:
    """What is said, in its order: how soon it is left out (the larger the sooner), the text, its tint."""
    if not seen.ranks:
        return [(0, f"no rank yet after {_span(running)}", Tint.PLAIN)]
    parts = [(1, _counted(seen.ranks, "rank"), Tint.PLAIN)]
    if seen.pace.heads:
        parts.append((3, _counted(seen.steps, "step"), Tint.PLAIN))
        if seen.pace.rate is not None:
            parts.append((4, f"{seen.pace.rate:.3g} steps/s", Tint.PLAIN))
        parts.append((0, f"last progress {_span(now - seen.moved)} ago", Tint.PLAIN))
    wait = seen.pace.wait
    if wait is not None and wait.seconds >= NOTICED:
        parts.append((2, f"{ranks_named(wait.ranks)} behind for {_span(wait.seconds)}", Tint.WARN))
    return parts


def ranks_named(ranks: tuple[int, ...]) -> str:
    """`rank 3` or `ranks 0-2,5`."""
    return f"rank{'s' if len(ranks) > 1 else ''} {RankSet.of(Rank(rank) for rank in ranks)}"


def _span(seconds: float) -> str:
    """Whole seconds, then minutes, then hours: what changes at most once a second."""
    whole = int(max(seconds, 0.0))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole // 60 % 60} min"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"
