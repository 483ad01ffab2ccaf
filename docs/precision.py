"""The page on lint's precision, from the tables of first looks. Pure, but for reading the tables."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLES = Path(__file__).parent.parent / "benchmarks" / "lint_first_looks"
_VERDICTS = ("real", "harmless", "false")
_INTRODUCTION = """\
# Precision of lint on code that nobody here wrote

Only first looks count. For each batch, ten training repositories or more that nobody here had looked at were linted at
their newest commit, with the default rules (errors and warnings, no hints), at the commit of this project that the
table names. Every finding was judged by reading the code, and the table was committed, before anything was mended: what
lint says of these places today is no measure any more. From batch 9 on, the readers had no part in the rules, and what
all ranks write alike counts as harmless, which counted as real before.

| verdict | meaning |
|---|---|
| real | the code does what the finding says, and it does harm |
| harmless | literally true, but it does no harm here, or only under a circumstance that this repository does not have |
| false | the code does not do what the finding says |

[The tables](../benchmarks/lint_first_looks/README.md) say how they are made. How many faults from public histories lint
finds is measured by `make lint-history` (see [benchmarks/lint_history](../benchmarks/lint_history/README.md)), and how
many in programs of people who had not seen its rules by `make lint-programs` (see
[benchmarks/lint_programs](../benchmarks/lint_programs/README.md): 17 of 56 and 7 of 24 when they were linted first).

"""


def text() -> str:
    """The page: figures of all batches first, then each batch with every finding."""
    tables = sorted(TABLES.glob("batch_*.toml"), key=_number)
    batches = [tomllib.loads(path.read_text(encoding="utf-8")) for path in tables]
    head = ["batch", "repositories", "lines that matter", "errors", "warnings", "findings per 1,000 lines"]
    rows = [_figures(number, batch) for number, batch in enumerate(batches, 1)]
    parts = [_INTRODUCTION, _table(head, rows)]
    for number, batch in enumerate(batches, 1):
        parts.append(f"\n## Batch {number}\n\nLint at commit {batch['lint_commit'][:10]}. Repositories: ")
        parts.append(", ".join(f"{r['name']}@{r['commit'][:10]}" for r in batch["repository"]) + ".\n\n")
        parts.append(_table(["repository", "place", "finding", "verdict", "reason"], map(_finding, batch["finding"])))
    return "".join(parts)


def _number(path: Path) -> int:
    return int(path.stem.partition("_")[2])


def _figures(number: int, batch: Mapping[str, Any]) -> list[str]:
    lines = sum(r["lines_of_them"] for r in batch["repository"])
    rate = f"{1000 * len(batch['finding']) / lines:.2f}"
    counts = [_counts(batch["finding"], severity) for severity in ("error", "warning")]
    return [str(number), str(len(batch["repository"])), f"{lines:,}", *counts, rate]


def _counts(findings: Iterable[Mapping[str, Any]], severity: str) -> str:
    verdicts = Counter(f["verdict"] for f in findings if f["severity"] == severity)
    if not verdicts:
        return "0"
    return f"{verdicts.total()}: " + ", ".join(f"{verdicts[v]} {v}" for v in _VERDICTS if verdicts[v])


def _finding(finding: Mapping[str, Any]) -> list[str]:
    place = f"`{finding['path']}:{finding['line']}`"
    rule = f"{finding['rule']} {finding['severity']}"
    return [finding["repository"], place, rule, finding["verdict"], finding["reason"]]


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
