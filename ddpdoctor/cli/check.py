"""Impure. `ddpdoctor check [-- COMMAND]`: what of this machine would make a job fail, hang, or be hard to diagnose."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, State
from ddpdoctor.checkup.machine import Machine, Meeting
from ddpdoctor.cli import forms, options
from ddpdoctor.errors import ExitCode, UsageError

_EPILOG = """examples:
  ddpdoctor check
  ddpdoctor check -- torchrun --nproc-per-node 8 --nnodes 2 --rdzv-endpoint node0:29500 train.py
  srun --ntasks-per-node 1 ddpdoctor check --meet -- torchrun --nnodes 2 --rdzv-endpoint node0:29500 train.py

Nothing is started but a sleeping Python process, and without --meet nothing is connected to. On several nodes, run it
on each. With --meet they meet at the launch's own endpoint before the job does, compare clocks and versions, and show
that its port can be reached. If something listens there already, it is left alone.

exit status:
  0  no problem (there may be warnings)
  1  at least one problem
  2  invalid arguments"""

#: seconds that the nodes are waited for, and the most
_MEET, _LONGEST = 60.0, 3600.0
SCHEMA = "ddpdoctor.check/1"
#: said of a machine in passing, and not shown without -v
_QUIET = frozenset({State.OK, State.UNKNOWN})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "ddpdoctor check [options] [-- COMMAND...]"
    parser.epilog = _EPILOG
    parser.add_argument("-v", "--verbose", action="store_true", help="also show the checks that found nothing")
    parser.add_argument(
        "--meet",
        nargs="?",
        const=_MEET,
        type=_seconds,
        metavar="SECONDS",
        help=f"on every node: wait for the other nodes at the launch's endpoint, at most SECONDS (default: {_MEET:g})",
    )
    forms.add_json(parser, "all results")


def run(args: argparse.Namespace) -> ExitCode:
    """Look at the machine, judge, print."""
    from ddpdoctor.checkup import look, registry
    from ddpdoctor.cli.verdict_actions import state_folder

    machine = look.look(getattr(args, "command", None) or (), os.environ, state_folder())
    if args.meet is not None:
        machine = _met(machine, args.meet)
    results = registry.judge_all(machine)
    forms.tell(args, _told(results, machine.meeting), _text(results, verbose=args.verbose))
    return ExitCode.FOUND if any(judged.state is State.PROBLEM for _, judged in results) else ExitCode.OK


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds <= _LONGEST:
        raise argparse.ArgumentTypeError(f"from 1 to {_LONGEST:g} seconds, not {text}")
    return seconds


def _met(machine: Machine, seconds: float) -> Machine:
    from ddpdoctor.checkup import meeting

    launch = machine.launch
    if launch.nodes < 2 or not launch.master_address or launch.master_port is None:
        raise UsageError(
            "--meet needs to know the nodes and where they meet: -- torchrun --nnodes 2 --rdzv-endpoint HOST:PORT ..."
        )
    place = f"{launch.master_address}:{launch.master_port}"
    print(f"ddpdoctor: waiting for {launch.nodes} nodes at {place}, at most {seconds:g} s", file=sys.stderr, flush=True)
    return replace(machine, meeting=meeting.meet(machine, seconds))


def _told(results: Sequence[tuple[Check, Judgement]], met: Meeting | None) -> object:
    listed = [
        {
            "code": check.code,
            "name": check.name,
            "state": judged.state.value,
            "said": judged.said,
            "remedy": list(judged.remedy),
        }
        for check, judged in results
    ]
    nodes = {"nodes": [asdict(peer) for peer in met.peers]} if met else {}
    return {"schema": SCHEMA, "checks": listed, **nodes}


def _text(results: Sequence[tuple[Check, Judgement]], *, verbose: bool) -> str:
    """The results worth showing, each with what to type, and one line that counts."""
    from ddpdoctor.report.terminal_text import Tint

    screen = options.screen(sys.stdout, os.environ)
    style = screen.style
    tints = {State.PROBLEM: Tint.ALARM, State.WARNING: Tint.WARN, State.OK: Tint.GOOD}
    lines: list[str] = []
    for check, judged in results:
        if judged.state in _QUIET and not verbose:
            continue
        word = style.paint(f"{judged.state.value:<8}", tints.get(judged.state, Tint.PLAIN))
        said = style.wrap(judged.said, max(screen.width - 16, 24))
        lines.append(f"{word} {check.code}  {said[0] if said else ''}")
        lines += [f"{'':16}{line}" for line in said[1:]]
        lines += [f"{'':16}{style.paint('$', Tint.FAINT)} {style.line(command)}" for command in judged.remedy]
    counts = Counter(judged.state for _, judged in results)
    counted = ", ".join(f"{counts[state]} {_counted(state, counts[state])}" for state in State if counts[state])
    shown = "" if not lines else "; `ddpdoctor explain CODE` says more"
    return "".join(f"{line}\n" for line in [*lines, f"{len(results)} checks: {counted}{shown}"])


def _counted(state: State, count: int) -> str:
    many = {State.NOTE: "notes", State.WARNING: "warnings", State.PROBLEM: "problems"}
    words = {State.UNKNOWN: "not known or not applicable"}
    return many.get(state, "") if count > 1 and state in many else words.get(state, state.value)
