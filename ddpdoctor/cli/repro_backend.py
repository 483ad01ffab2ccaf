"""Impure. What a case of `ddpdoctor repro` runs on, or one line that says why it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddpdoctor.errors import UsageError

if TYPE_CHECKING:
    from ddpdoctor.repro.case import Case
    from ddpdoctor.repro.nccl import Nccl

_INSTEAD = "without --backend it runs on gloo and the CPU"


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
        raise UsageError(f"{case.name} does not run on {name}: {why}", hint="`ddpdoctor repro list` shows which do")
    return _on_nccl(case, ranks) if backend == "nccl" else (ranks or case.ranks, None)


def machine(backend: str | None) -> Nccl | None:
    """What this machine has for all cases on NCCL; None for gloo. Raises UsageError where it can run none of them."""
    if backend != "nccl":
        return None
    from ddpdoctor.repro import nccl

    found = nccl.find()
    if refused := found.lacks():
        raise UsageError(f"no case can run on NCCL here: {refused}", hint=_INSTEAD)
    return found


def planned(case: Case, found: Nccl | None) -> tuple[int, str]:
    """With how many ranks one of all cases runs, and why it is left out, "" if it is not."""
    if found is None:
        return case.ranks, ""
    if "nccl" not in case.backends:
        return case.ranks, f"does not run on NCCL: {case.only_because.rstrip('.')}"
    ranks = found.ranks_for(case)
    refused = found.refuses(case, ranks)
    return ranks, refused and f"cannot run on NCCL here: {refused}"


def _on_nccl(case: Case, asked: int | None) -> tuple[int, Nccl]:
    from ddpdoctor.repro import nccl

    found = nccl.find()
    ranks = asked or found.ranks_for(case)
    if refused := found.refuses(case, ranks):
        hint = _INSTEAD if "gloo" in case.backends else ""
        raise UsageError(f"{case.name} cannot run on NCCL here: {refused}", hint=hint)
    return ranks, found
