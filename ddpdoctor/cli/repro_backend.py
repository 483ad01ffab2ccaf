"""Impure. The backend that a case of `ddpdoctor repro` runs on, or the reason why it cannot run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddpdoctor.errors import UsageError

if TYPE_CHECKING:
    from ddpdoctor.repro.case import Case
    from ddpdoctor.repro.nccl import Nccl

_INSTEAD = "without --backend it runs on gloo and the CPU"


def backends_of(case: Case) -> str:
    """What a case needs besides torch, its backends, and why it has no other."""
    needs = f"needs {' and '.join(case.needed)}, and " if case.needed else ""
    return f"{case.name} {needs}runs on {' and '.join(case.backends)}" + (
        case.only_because and f": {case.only_because}"
    )


def choose(case: Case, backend: str | None, ranks: int | None) -> tuple[int, Nccl | None]:
    """The number of ranks of a case, and what the machine has if the case runs on NCCL.

    `backend` and `ranks` are the user's choices, None if there are none. Raises UsageError, before anything is started,
    if the case or this machine cannot run so.
    """
    if backend and backend not in case.backends:
        name = "NCCL" if backend == "nccl" else backend
        why = case.only_because.rstrip(".")
        raise UsageError(f"{case.name} does not run on {name}: {why}", hint="`ddpdoctor repro list` shows which do")
    return _on_nccl(case, ranks) if backend == "nccl" else (ranks or case.ranks, None)


def nccl_of_machine(backend: str | None) -> Nccl | None:
    """What this machine has for all cases on NCCL; None for gloo. Raises UsageError if it can run none of them."""
    if backend != "nccl":
        return None
    from ddpdoctor.repro import nccl

    found = nccl.find()
    if refused := found.missing():
        raise UsageError(f"no case can run on NCCL here: {refused}", hint=_INSTEAD)
    return found


def plan_for(case: Case, found: Nccl | None) -> tuple[int, str]:
    """The number of ranks of a case when all are run, and why it is left out, "" if it is not."""
    if found is None:
        return case.ranks, ""
    if "nccl" not in case.backends:
        return case.ranks, f"does not run on NCCL: {case.only_because.rstrip('.')}"
    ranks = found.ranks_for(case)
    refused = found.why_not(case, ranks)
    return ranks, refused and f"cannot run on NCCL here: {refused}"


def _on_nccl(case: Case, asked: int | None) -> tuple[int, Nccl]:
    from ddpdoctor.repro import nccl

    found = nccl.find()
    ranks = asked or found.ranks_for(case)
    if refused := found.why_not(case, ranks):
        hint = _INSTEAD if "gloo" in case.backends else ""
        raise UsageError(f"{case.name} cannot run on NCCL here: {refused}", hint=hint)
    return ranks, found
