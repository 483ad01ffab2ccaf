"""Displayed text contains neither terminal escapes nor secrets."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.probe.redact import plain, redacted, redacted_command

KEY = "hunter2hunter2hunter2"


@pytest.mark.parametrize(
    "text",
    [
        f"--api-key={KEY}",
        f"--api_key {KEY} --lr 0.1",
        f"WANDB_API_KEY={KEY}",
        f'{{"password": "{KEY}"}}',
        f"HF_TOKEN: {KEY}",
        f"https://bob:{KEY}@example.org/data",
        f"Authorization: Bearer {KEY}",
        f"AWS_SECRET_ACCESS_KEY='{KEY}'",
        f"hf_{KEY}",
        f"sk-{KEY}",
        f"ghp_{KEY}",
    ],
)
def test_secrets_are_taken_out(text: str) -> None:
    shown = redacted(text)
    assert KEY not in shown
    assert "[redacted]" in shown


@pytest.mark.parametrize(
    "text",
    [
        "torchrun --nproc-per-node 4 train.py --lr 0.1 --tokens 2048",
        "RuntimeError: expected 3 tokens, got 4",
        "KeyError: 'label'",
        "https://example.org:8080/a@b",
        "File 'train.py', line 3, in step",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redacted(text).replace("[redacted]", "2048") == text


def test_a_command_whose_secret_is_the_next_argument() -> None:
    command = ("python", "train.py", "--hub-token", KEY, "--push", f"--wandb-key-password={KEY}")
    shown = redacted_command(command)
    assert shown == ("python", "train.py", "--hub-token", "[redacted]", "--push", "--wandb-key-password=[redacted]")


@pytest.mark.parametrize(
    "text", ["\x1b[31mred\x1b[0m", "\x1b]0;title\x07red", "\x1b(0red"[:3] + "red", "r\x00e\x07d", "\x9bred"]
)
def test_no_escape_reaches_the_terminal(text: str) -> None:
    assert "\x1b" not in plain(text)
    assert plain(text).endswith("red")


@given(st.text())
def test_lines_and_tabs_stay_and_nothing_moves_the_cursor(text: str) -> None:
    shown = plain(text)
    assert not any(ord(c) < 32 and c not in "\t\n" for c in shown)
    assert plain(shown) == shown


@pytest.mark.parametrize("text", ["-" * 50_000, "a" * 50_000, "token" * 10_000, "x://" + "a" * 50_000, "a:" * 25_000])
def test_a_long_line_takes_no_square_of_steps(text: str) -> None:
    begun = time.process_time()
    redacted(text)
    assert time.process_time() - begun < 5.0
