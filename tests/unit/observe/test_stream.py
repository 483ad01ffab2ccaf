"""Events of a page as moments that ranks are compared by."""

from __future__ import annotations

import json

import pytest

from ddpdoctor.observe.stream import BACKWARD, FORWARD, FORWARD_NO_SYNC, NEXT, NOWHERE, UNREDUCED, Names, Translator
from ddpdoctor.probe import page as layout
from ddpdoctor.probe import string_table
from ddpdoctor.probe.string_table import StringTable

#: a forward with gradients on
GRADIENTS = (FORWARD, layout.GRADIENTS)
NO_SYNC = (FORWARD_NO_SYNC, layout.GRADIENTS)
OLD, PREPARED, UNPREPARED = ((BACKWARD, flags) for flags in (0, layout.REDUCES, layout.UNREDUCED))


@pytest.mark.parametrize(
    ("events", "backwards"),
    [
        pytest.param([GRADIENTS, PREPARED], [(BACKWARD, True)], id="a step"),
        pytest.param([GRADIENTS, PREPARED, PREPARED], [(BACKWARD, True)] * 2, id="prepared for each backward"),
        pytest.param([GRADIENTS, UNPREPARED], [(UNREDUCED, False)], id="not synchronised after all"),
        pytest.param([NO_SYNC, UNPREPARED], [(UNREDUCED, False)], id="no_sync"),
        pytest.param([GRADIENTS, OLD, OLD], [(BACKWARD, True), (BACKWARD, False)], id="a page that does not say"),
        pytest.param([NO_SYNC, OLD], [(BACKWARD, False)], id="no_sync, and a page that does not say"),
    ],
)
def test_backwards_that_reduce(events: list[tuple[int, int]], backwards: list[tuple[int, bool]]) -> None:
    translator = Translator(Names(), StringTable(b""), 0, 2)
    rows = [(n, float(n), -1, 7, 0, 0, 0, 0, -1, -1, 0, *event, 0, n) for n, event in enumerate(events, 1)]
    moments = translator.moments(rows)
    told = [(moment.code, moment.group != NOWHERE) for moment in moments if moment.code in (BACKWARD, UNREDUCED)]
    assert told == backwards


FIT = ("/job/train.py", 90, "main")
PACKAGES = "/venv/lib/python3.11/site-packages/lightning/pytorch/loops"


def table(values: list[object]) -> tuple[StringTable, list[int]]:
    """The texts as a page has them, and their positions."""
    log, found = b"", []
    for value in values:
        payload = json.dumps(value).encode()
        found.append(len(log) + 1)
        log += string_table.HEAD.pack(len(payload)) + payload
    return StringTable(log), found


def test_loops_that_one_line_runs_by_a_library_are_told_apart() -> None:
    """`trainer.fit()` takes batches to train and batches to validate: of the second, ranks may have unequally many."""
    train, validate = ((f"{PACKAGES}/{name}.py", 30, "advance") for name in ("fit_loop", "evaluation_loop"))
    _, at = table([FIT, train, validate])
    frame = table([FIT, train, validate, [at[0], 0]])[1][3]
    texts, positions = table([FIT, train, validate, [at[0], 0], [at[1], frame], [at[2], frame]])
    names = Names()
    translator = Translator(names, texts, 0, 2)
    rows = [
        (n, float(n), -1, 7, at[0], 0, 0, 0, -1, -1, 0, NEXT, 0, path, n)
        for n, path in enumerate((positions[4], positions[5], positions[4], frame), 1)
    ]
    places = [moment.place for moment in translator.moments(rows)]
    assert places[0] == places[2]
    assert len(set(places)) == 3
    assert {names.sites[place][1] for place in places} == {names.sites[places[0]][1]}
