"""Locks that lines take, and who is inside of them."""

from __future__ import annotations

from ddpdoctor.diagnose.blocked.lock_statements import inside_of, lock_taken, taken_by
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.stacks import Site
from ddpdoctor.program.program import Program

FILE = "/job/train.py"


def code(text: str) -> Program:
    return Program({FILE: SourceFile(FILE, text)})


def at(text: str, mark: str) -> Site:
    number = next(n for n, line in enumerate(text.splitlines(), 1) if mark in line)
    return Site(FILE, number, "f")


LOCKS = """
def count(self):
    with self.lock:
        self.n += 1

def write(self):
    with self.lock, open(path) as f:
        f.write(x)

def take():
    table.lock.acquire()
    work()

def other():
    with self.other:
        work2()
"""


def test_locks_that_lines_take() -> None:
    known = code(LOCKS)
    assert lock_taken(known, at(LOCKS, "with self.lock:")) == "self.lock"
    assert lock_taken(known, at(LOCKS, "with self.lock, open")) == "self.lock"
    assert lock_taken(known, at(LOCKS, "acquire()")) == "table.lock"
    assert lock_taken(known, at(LOCKS, "self.n += 1")) == ""
    assert lock_taken(known, at(LOCKS, "    work()")) == ""


def test_functions_that_take_a_lock() -> None:
    known = code(LOCKS)
    assert taken_by(known, [at(LOCKS, "self.n += 1")], "x.lock") == at(LOCKS, "with self.lock:")
    assert taken_by(known, [at(LOCKS, "work2")], "lock") is None


def test_frames_inside_of_a_lock() -> None:
    known = code(LOCKS)
    inside, taking, other = (at(LOCKS, mark) for mark in ("f.write", "with self.lock:", "work2"))
    assert inside_of(known, [taking, inside], "tally.lock") == inside
    assert inside_of(known, [taking, other], "lock") is None
