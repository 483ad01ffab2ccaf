"""The report as JSON: it reads back, renders the same screen, and contains no more source than needed."""

from __future__ import annotations

import json as stdlib_json

import pytest

from ddpdoctor.model.codec import DecodeError
from ddpdoctor.model.diagnosis import Retry
from ddpdoctor.report import json, terminal
from ddpdoctor.report.terminal_text import Screen
from tests.golden.reports import REPORTS, TRAIN, TRAIN_TEXT


@pytest.mark.parametrize("name", REPORTS)
def test_the_report_that_is_read_draws_the_same_screen(name: str) -> None:
    read = json.read(json.render(REPORTS[name]))
    for width in (60, 100, 200):
        screen = Screen(width)
        assert terminal.render(read, screen) == terminal.render(REPORTS[name], screen)
    assert json.render(read) == json.render(REPORTS[name])


def test_only_the_lines_around_locations_are_written() -> None:
    code = stdlib_json.loads(json.render(REPORTS["hang-certain"]))["code"][TRAIN]
    whole = TRAIN_TEXT.split("\n")
    kept = {code["first"] + i: text for i, text in enumerate(code["text"].split("\n")) if text}
    assert kept == {n: whole[n - 1] for n in (*range(69, 76), *range(85, 92))}


def test_the_schema_comes_first() -> None:
    assert next(iter(stdlib_json.loads(json.render(REPORTS["crash"])))) == "schema"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "ddpdoctor.report/3"}', '{"schema": "ddpdoctor.report/1"}']
)
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(DecodeError):
        json.read(text)


@pytest.mark.parametrize("schema", ["ddpdoctor.report/1", "ddpdoctor.report/2"])
def test_a_report_that_does_not_say_what_running_again_would_do(schema: str) -> None:
    value = {**stdlib_json.loads(json.render(REPORTS["hang-certain"])), "schema": schema}
    del value["diagnoses"][0]["retry"]
    (found,) = json.read(stdlib_json.dumps(value)).diagnoses
    assert found.retry is Retry.UNKNOWN
    # THEN no form says anything of it
    assert "the same job" not in terminal.render(json.read(stdlib_json.dumps(value)), Screen(100))
