"""Decorators of the project are what they make of a function; those of frameworks what the tables say."""

from __future__ import annotations

from ddpdoctor.lint.interpreter.trace import operations
from tests.unit.lint.simulation import outline, trace


def test_a_wrapper_runs_around_the_function() -> None:
    text = """
import functools


def synced(function):
    @functools.wraps(function)
    def run(*args):
        result = function(*args)
        dist.barrier()
        return result
    return run


@synced
def load(path):
    dist.broadcast(path, 0)


def main(path):
    load(path)
"""
    assert [op.op for op, _ in operations(trace(text))] == ["broadcast", "barrier"]


def test_a_decorator_by_which_rank_0_alone_runs_the_body() -> None:
    text = """
from lightning.pytorch.utilities import rank_zero_only


@rank_zero_only
def save():
    dist.barrier()


def main():
    save()
"""
    assert "barrier" in outline(trace(text))
    (scope,) = trace(text)
    assert "if(" in outline((scope,))


def test_a_decorator_that_is_not_known_is_looked_through() -> None:
    text = "from elsewhere import timed\n\n\n@timed\ndef sync():\n    dist.barrier()\n\n\ndef main():\n    sync()"
    assert outline(trace(text)) == "sync{barrier}"
