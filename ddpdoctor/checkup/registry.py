"""All checks, sorted by code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.checks import (
    backend,
    clock,
    evidence_folder,
    interfaces,
    known_bad,
    master_address,
    master_port,
    memory,
    nodes_meet,
    open_files,
    peer_to_peer,
    py_spy,
    recorder,
    reverse_dns,
    shared_memory,
    stacks,
    timeouts,
    torch_version,
    yama,
)
from ddpdoctor.checkup.judgement import Judgement, problem
from ddpdoctor.checkup.machine import Machine


@dataclass(frozen=True, slots=True)
class RegisteredCheck:
    check: Check
    judge: Callable[[Machine], Judgement]
    documentation: str


CHECKS = tuple(
    RegisteredCheck(module.CHECK, module.judge, module.__doc__ or "")
    for module in (
        py_spy,
        stacks,
        yama,
        shared_memory,
        open_files,
        memory,
        torch_version,
        known_bad,
        recorder,
        backend,
        interfaces,
        master_address,
        master_port,
        reverse_dns,
        timeouts,
        evidence_folder,
        peer_to_peer,
        clock,
        nodes_meet,
    )
)


def judge_all(machine: Machine, checks: tuple[RegisteredCheck, ...] = CHECKS) -> tuple[tuple[Check, Judgement], ...]:
    """Every check's judgement; one that fails is a result, too."""
    return tuple((registered.check, _judged(registered, machine)) for registered in checks)


def _judged(registered: RegisteredCheck, machine: Machine) -> Judgement:
    try:
        return registered.judge(machine)
    except Exception as error:  # noqa: BLE001 - boundary: the other checks are not lost with this one
        return problem(f"the check itself failed: {type(error).__name__}: {error}")
