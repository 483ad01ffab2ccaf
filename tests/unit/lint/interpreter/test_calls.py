"""Calls of the project's own functions are followed, also into other files; others are recorded."""

from __future__ import annotations

from ddpdoctor.lint.values.values import EVERY_RANK, RANK_ZERO
from tests.unit.lint.simulation import outline, shown, simulate, trace


def test_a_call_is_followed() -> None:
    text = "def sync():\n    dist.barrier()\n\n\ndef main():\n    sync()"
    assert outline(trace(text)) == "sync{barrier}"


def test_a_call_is_followed_into_another_file() -> None:
    text = "from helpers import sync\n\n\ndef main():\n    sync()"
    assert outline(trace(text, helpers="def sync():\n    dist.barrier()")) == "sync{barrier}"


def test_a_call_gives_what_is_returned_rank_by_rank() -> None:
    text = """
def first():
    if dist.get_rank() == 0:
        return "a"
    return "b"


def main():
    show(first())
"""
    assert shown(text)[0].atoms == ("a", "b", "b", "b")


def test_arguments_decide() -> None:
    text = """
def sync(wanted):
    if wanted:
        dist.barrier()


def main():
    sync(True)
    sync(wanted=False)
"""
    assert outline(trace(text)) == "sync{barrier}"


def test_a_default_is_taken_where_nothing_is_given() -> None:
    text = "def double(x=2):\n    return 2 * x\n\n\ndef main():\n    show(double())\n    show(double(4))"
    assert [value.constant for value in shown(text)] == [4, 8]


def test_a_function_that_calls_itself_is_not_followed_twice() -> None:
    text = "def main(n):\n    dist.barrier()\n    main(n - 1)"
    assert outline(trace(text)) == "barrier"


def test_a_closure_sees_the_variables_around_it() -> None:
    text = "def main():\n    x = 3\n\n    def inner():\n        return x\n\n    show(inner())"
    assert shown(text)[-1].constant == 3


def test_a_callee_runs_on_the_ranks_that_call_it() -> None:
    text = """
def told():
    show(1)


def main():
    if dist.get_rank() == 0:
        told()
    told()
"""
    calls = [call for call in simulate(text).calls if call.path == "elsewhere.show"]
    assert [call.context.mask for call in calls] == [RANK_ZERO, EVERY_RANK]
    assert all(call.context.calls == ("main", "told") for call in calls)


def test_methods_store_in_their_object() -> None:
    text = """
class Place:
    def __init__(self):
        self.rank = dist.get_rank()

    def first(self):
        return self.rank == 0


def main():
    show(Place().first())
"""
    assert shown(text)[0].atoms == (True, False, False, False)


def test_nothing_is_known_of_what_is_not_there() -> None:
    (value,) = shown("def main():\n    show(missing(1))")
    assert not value.known
