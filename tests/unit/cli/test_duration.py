"""Parsing of durations."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.cli.duration import parse
from ddpdoctor.errors import UsageError


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1h", 3600), ("1.5h", 5400), ("2m ", 120)]
)
def test_accepted(text: str, seconds: float) -> None:
    assert parse(text, "--stall-after") == seconds


@pytest.mark.parametrize(
    "text", ["", "0", "0s", "-5", "soon", "10 m", "1d", "m", "1h30m", "inf", "nan", "1e3", "٣", "9" * 400]
)
def test_refused_with_the_options_name_and_what_to_type(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text, "--stall-after")
    assert caught.value.message.startswith("--stall-after: ")
    assert "10m" in caught.value.hint


@given(st.text())
def test_any_text_is_a_positive_number_of_seconds_or_a_usage_error(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert parse(text, "--x") > 0
