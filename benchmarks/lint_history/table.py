"""The tables of the measurement, in Markdown. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.lint_history.cases import Fix, Trap
from benchmarks.lint_history.judge import Judged


def of_fixes(judged: Iterable[tuple[Fix, Judged]]) -> str:
    """One line a rule: how many of the fair fixes were told, and after how many of all fixes lint is silent."""
    by_rule: dict[str, list[tuple[Fix, Judged]]] = {}
    for fix, verdict in judged:
        by_rule.setdefault(fix.rule, []).append((fix, verdict))
    rows = [_row(rule, by_rule[rule]) for rule in sorted(by_rule)]
    total = _row("all", [one for some in by_rule.values() for one in some])
    head = ["| rule | found | with hints | silent after |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, total])


def _row(name: str, cases: list[tuple[Fix, Judged]]) -> str:
    fair = [verdict for fix, verdict in cases if not fix.unfair]
    finished = [verdict for fix, verdict in cases if not fix.unfinished]
    by_default, found = sum(verdict.found_by_default for verdict in fair), sum(verdict.found for verdict in fair)
    silent = sum(verdict.silent for verdict in finished)
    return f"| {name} | {by_default}/{len(fair)} | {found}/{len(fair)} | {silent}/{len(finished)} |"


def of_misses(judged: Iterable[tuple[Fix, Judged]]) -> str:
    """The fair fixes that were not told, and those that are told afterwards as well."""
    lines = []
    for fix, verdict in judged:
        if not fix.unfair and not verdict.found:
            lines.append(f"not found: {fix.key}: {fix.fault}")
        if not fix.unfinished and not verdict.silent:
            lines.append(f"not silent after the fix: {fix.key}: {fix.fault}")
    return "\n".join(lines)


def of_traps(judged: Iterable[tuple[Trap, bool]]) -> str:
    """How many traps are silent, in one line."""
    silent = [is_silent for _, is_silent in judged]
    return f"traps: {sum(silent)} of {len(silent)} are silent"


def of_loud_traps(judged: Iterable[tuple[Trap, bool]]) -> str:
    """The traps that are not silent."""
    return "\n".join(f"not silent: {trap.key}: {trap.why}" for trap, is_silent in judged if not is_silent)
