"""Pure. The operations of each group, with a column for ranks that are alike; what differs is marked."""

from __future__ import annotations

from collections.abc import Iterable

from ddpdoctor.model.exhibit import Exhibit
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.report import GroupReport, Report
from ddpdoctor.report.code_frame import ranks_in_words
from ddpdoctor.report.collective_matrix import ABSENT, Matrix, MatrixRow, matrix
from ddpdoctor.report.html.element import Child, Markup, element, scrolling, section, table

_MOST_GROUPS = 40
_WORDS = {
    "in": "is in it",
    "queued": "issued after it",
    ABSENT: "never issued",
    "?": "not recorded",
    "done": "done",
    "gave up": "gave up",
}


def drawn(exhibit: Exhibit) -> Child:
    """The section, None if no group is known."""
    found = matrix(exhibit.recorders) if exhibit.recorders else None
    groups = exhibit.report.groups
    if found is None and not groups:
        return None
    culprits = exhibit.report.diagnoses[0].culprits if exhibit.report.diagnoses else RankSet()
    lead = "How far each rank has got in each process group. The ranks that differ are marked."
    recorded = _recorded(found, culprits) if found else []
    return section("groups", "Collectives", _frontiers(exhibit.report, culprits), *recorded, lead=lead)


def _frontiers(report: Report, culprits: RankSet) -> Child:
    groups = [group for group in report.groups if group.frontiers]
    if not groups:
        return None
    # what parted comes first
    groups.sort(key=lambda group: -len(group.frontiers))
    rows: list[tuple[str, ...]] = []
    marked: list[int] = []
    for group in groups[:_MOST_GROUPS]:
        odd = _odd(group, culprits)
        for number, frontier in enumerate(group.frontiers):
            if number in odd:
                marked.append(len(rows))
            done = "done" if frontier.finished else "not finished"
            rows.append((group.label, ranks_in_words(frontier.ranks), str(frontier.seq), frontier.op, done))
    head = ("group", "ranks", "number", "last operation", "state")
    made = table("The last operation of each rank in each group", head, rows, marked=marked)
    return element("div", element("h3", "Last operations"), made)


def _odd(group: GroupReport, culprits: RankSet) -> frozenset[int]:
    """The frontiers that differ: those of the culprits, else all but the one of most ranks."""
    if len(group.frontiers) < 2:
        return frozenset()
    blamed = [n for n, frontier in enumerate(group.frontiers) if any(rank in culprits for rank in frontier.ranks)]
    if blamed and len(blamed) < len(group.frontiers):
        return frozenset(blamed)
    sizes = [len(frontier.ranks) for frontier in group.frontiers]
    if sizes.count(max(sizes)) > 1:
        return frozenset()
    return frozenset(n for n, size in enumerate(sizes) if size < max(sizes))


def _recorded(found: Matrix, culprits: RankSet) -> list[Child]:
    """The matrix, one table for each group."""
    by_group: dict[str, list[MatrixRow]] = {}
    for row in found.rows:
        by_group.setdefault(row.group, []).append(row)
    odd = _odd_columns(found, culprits)
    tables = [_table(name, rows, found, odd) for name, rows in by_group.items()]
    said = []
    if found.before:
        said.append(f"{found.before} operations before are complete.")
    if found.behind:
        said.append(f"{found.behind} later operations are left out.")
    if found.hidden:
        said.append(f"{sum(map(len, found.hidden))} ranks with {len(found.hidden)} other records are left out.")
    return [
        element("h3", "From the Flight Recorder"),
        element("p", " ".join(said), class_="lead") if said else None,
        *tables,
    ]


def _odd_columns(found: Matrix, culprits: RankSet) -> frozenset[int]:
    blamed = [n for n, ranks in enumerate(found.columns) if any(rank in culprits for rank in ranks)]
    return frozenset(blamed) if len(blamed) < len(found.columns) else frozenset()


def _table(name: str, rows: Iterable[MatrixRow], found: Matrix, odd: frozenset[int]) -> Markup:
    heads = [element("th", title, scope="col") for title in ("number", "operation")]
    heads += [
        element("th", ranks_in_words(ranks), scope="col", class_="odd" if n in odd else None)
        for n, ranks in enumerate(found.columns)
    ]
    body = [
        element(
            "tr",
            element("th", row.number, scope="row"),
            element("td", element("code", row.what)),
            *(_cell(cell, n in odd) for n, cell in enumerate(row.cells)),
        )
        for row in rows
    ]
    caption = f"group: {name}" if name != "default" else "the default group"
    made = element(
        "table",
        element("caption", caption, class_="unseen"),
        element("thead", element("tr", *heads)),
        element("tbody", *body),
        class_="matrix",
    )
    return element(
        "div", element("h3", element("span", caption, class_="count")), scrolling(f"Operations of {caption}", made)
    )


def _cell(state: str, odd: bool) -> Markup:
    word, _, other = state.partition(": ")
    said = _WORDS.get(word, word)
    kind = {"-": "absent", "?": "unknown"}.get(word, word.replace(" ", "-"))
    inside = element("span", f"{said}: {other}" if other else said, class_=f"state-{kind}" if word in _WORDS else None)
    return element("td", inside, class_="odd" if odd else None)
