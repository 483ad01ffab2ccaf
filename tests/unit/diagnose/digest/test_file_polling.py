"""Loops that sleep for a file."""

from __future__ import annotations

import pytest

from ddpdoctor.diagnose.digest.file_polling import Poll, polled_file
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.stacks import Site
from ddpdoctor.program.program import Program

FILE = "/job/train.py"


def code(text: str) -> Program:
    return Program({FILE: SourceFile(FILE, text)})


def at(text: str, mark: str) -> Site:
    number = next(n for n, line in enumerate(text.splitlines(), 1) if mark in line)
    return Site(FILE, number, "f")


POLLS = [
    ("while os.path.exists(lock):\n    time.sleep(1)\n", Poll("os.path.exists(lock)", True)),
    ("while not done.exists():\n    time.sleep(1)\n", Poll("done.exists()", False)),
    (
        "while lock.is_file() and tries > 0:\n    tries -= 1\n    sleep(0.1)\n",
        Poll("lock.is_file()", True),
    ),
    (
        "while True:\n    if not os.path.exists(lock):\n        break\n    time.sleep(1)\n",
        Poll("os.path.exists(lock)", True),
    ),
    (
        "while True:\n    if self.ready.exists():\n        return 1\n    time.sleep(1)\n",
        Poll("self.ready.exists()", False),
    ),
    (
        "while True:\n    try:\n        fd = os.open(path, os.O_CREAT | os.O_EXCL)\n        break\n"
        "    except FileExistsError:\n        time.sleep(1)\n",
        Poll("os.open(path, os.O_CREAT | os.O_EXCL)", True),
    ),
    (
        "while True:\n    try:\n        with open(path, 'x'):\n            break\n    except FileExistsError:\n"
        "        time.sleep(1)\n",
        Poll("open(path, 'x')", True),
    ),
    (
        "while missing:\n    missing = [p for p in missing if not os.path.exists(p)]\n    time.sleep(1)\n",
        Poll("os.path.exists(p)", False),
    ),
    (
        "while not all(p.exists() for p in parts):\n    time.sleep(1)\n",
        Poll("p.exists()", False),
    ),
    (
        "for _ in range(9):\n    try:\n        lock.touch(exist_ok=False)\n    except OSError:\n        sleep(1)\n",
        Poll("lock.touch(exist_ok=False)", True),
    ),
]


@pytest.mark.parametrize(("loop", "expected"), POLLS)
def test_a_loop_that_sleeps_for_a_file(loop: str, expected: Poll) -> None:
    text = "def f():\n" + "".join(f"    {line}\n" for line in loop.splitlines())
    assert polled_file(code(text), at(text, "sleep(")) == expected


@pytest.mark.parametrize(
    "loop",
    [
        "while True:\n    time.sleep(1)\n",
        "while not event.is_set():\n    time.sleep(1)\n",
        "while waiting:\n    waiting = [one for one in waiting if one.is_alive()]\n    time.sleep(1)\n",
        "while os.path.exists(lock):\n    work()  # no nap: sleep(\n",
        "while True:\n    try:\n        open(path)\n    except OSError:\n        time.sleep(1)\n",
        "while a.exists() or b.exists():\n    time.sleep(1)\n",
        "if os.path.exists(lock):\n    time.sleep(1)\n",
    ],
)
def test_other_sleeps(loop: str) -> None:
    text = "def f():\n" + "".join(f"    {line}\n" for line in loop.splitlines())
    assert polled_file(code(text), at(text, "sleep(")) is None
