"""Impure. What a case of `ddpdoctor repro` runs on, or one line that says why it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddpdoctor.errors import UsageError

if TYPE_CHECKING:
    from ddpdoctor.repro.case import Case
    from ddpdoctor.repro.nccl import Nccl


def told(case: Case) -> str:
    """On what a case runs, and why on nothing else."""
    return f"{case.name} runs on {' and '.join(case.backends)}" + (case.only_because and f": {case.only_because}")


def chosen(case: Case, backend: str | None, ranks: int | None) -> tuple[int, Nccl | None]:
    """With how many ranks a case runs, and what the machine has where it runs on NCCL.

    `backend` and `ranks` are what was asked for, None where nothing was. Raises UsageError, before anything is started,
    where the case or this machine cannot.
    """
    if backend and backend not in case.backends:
        name = "NCCL" if backend == "nccl" else backend
        why = case.only_because.rstrip(".")
        raise UsageError(f"{case.name} does not run on {name}: {why}", hint="`ddpdoctor repro list` says which do")
    return _on_nccl(case, ranks) if backend == "nccl" else (ranks or case.ranks, None)


def _on_nccl(case: Case, asked: int | None) -> tuple[int, Nccl]:
    from ddpdoctor.repro import nccl

    found = nccl.find()
    ranks = asked or found.ranks_for(case)
    if refused := found.refuses(case, ranks):
        hint = "without --backend it runs on gloo and the CPU" if "gloo" in case.backends else ""
        raise UsageError(f"{case.name} cannot run on NCCL here: {refused}", hint=hint)
    return ranks, found
