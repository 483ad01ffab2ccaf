"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import re

import pytest

from ddpdoctor.model.late_pattern import late_pattern


def test_it_answers_as_the_compiled_pattern_does() -> None:
    late = late_pattern(r"rank (?P<number>\d+)", re.IGNORECASE)
    found = late.search("Rank 3 and rank 4")
    assert found is not None
    assert found["number"] == "3"
    assert late.findall("Rank 3 and rank 4") == ["3", "4"]
    assert late.pattern == r"rank (?P<number>\d+)"
    assert late.sub("r", "Rank 3") == "r"


def test_bytes_are_searched_by_a_pattern_of_bytes() -> None:
    assert late_pattern(rb"--nnodes[= ](\d+)").findall(b"--nnodes=2 --nnodes 4") == [b"2", b"4"]


def test_it_is_compiled_when_it_is_first_used() -> None:
    late = late_pattern("(")
    with pytest.raises(re.error, match="unterminated subpattern"):
        late.search("x")
