"""Loops with equally many iterations on every rank, and loops for which this is unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.conditions import decided_alike
from ddpdoctor.diagnose.facts import digest
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.stacks import Site
from tests.unit.diagnose.builders import At, Doing, job

FILE = "/job/train.py"


def alike(text: str) -> bool:
    """Of the one loop in a program."""
    line = 1 + next(number for number, line in enumerate(text.splitlines()) if "for step in" in line)
    code = {FILE: SourceFile(FILE, text, changed=False)}
    return decided_alike(
        digest(replace(job([Doing([At().all("barrier", 1)])] * 2), code=code)), Site(FILE, line, "main")
    )


@pytest.mark.parametrize(
    "text",
    [
        "for step in range(100): pass",
        "for step in range(args.steps): pass",
        "COUNT = 7\nfor step in range(2 * COUNT): pass",
        # the command line under a name of the program's own, where it is read and where it is handed on
        "flags = parser.parse_args()\nfor step in range(flags.steps): pass",
        "def main():\n    v4 = v11.parse_args()\n    for step in range(v4.steps): pass\n",
        "def train(given):\n    for step in range(given.steps): pass\nflags = parser.parse_args()\ntrain(flags)\n",
    ],
)
def test_alike(text: str) -> None:
    assert alike(text)


@pytest.mark.parametrize(
    "text",
    [
        "for step in range(len(data)): pass",
        "for step in loader: pass",
        "plan = load(rank)\nfor step in range(plan.steps): pass",
        "args.steps = len(data)\nfor step in range(args.steps): pass",
        # one of two sources of the name is not the command line
        "flags = parser.parse_args()\nif rank:\n    flags = load(rank)\nfor step in range(flags.steps): pass",
        "def train(given):\n    for step in range(given.steps): pass\ntrain(parser.parse_args())\ntrain(load(rank))\n",
        "def train(given):\n    for step in range(given.steps): pass\n",
    ],
)
def test_not_known_to_be_alike(text: str) -> None:
    assert not alike(text)
