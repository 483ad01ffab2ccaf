"""The n-th of each member belongs together, in whatever order they come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.observe.in_step import InStep

MEMBERS = (4, 7, 9)


@given(st.lists(st.sampled_from((*MEMBERS, 5))))
def test_the_nth_of_each_come_together(comers: list[int]) -> None:
    steps, numbers, met = InStep[int](MEMBERS), dict.fromkeys(comers, 0), []
    for comer in comers:
        numbers[comer] += 1
        steps.add(comer, numbers[comer])
        if steps.is_complete:
            met.append(steps.take())
    times = min(numbers.get(member, 0) for member in MEMBERS)
    assert met == [[number] * len(MEMBERS) for number in range(1, times + 1)]
    assert steps.is_idle == all(numbers.get(member, 0) == times for member in MEMBERS)


def test_how_many_wait_is_told_and_can_be_forgotten() -> None:
    steps = InStep[str](MEMBERS)
    assert [steps.add(4, "a"), steps.add(4, "b"), steps.add(5, "c")] == [1, 2, 0]
    assert steps.drop(4) == "a"
    steps.clear()
    assert steps.is_idle
    assert [steps.add(member, "d") for member in MEMBERS] == [1, 1, 1]
    assert steps.is_complete


def test_nobody_meets_in_a_group_of_which_no_member_is_known() -> None:
    steps = InStep[str](())
    assert steps.add(0, "a") == 0
    assert not steps.is_complete
