"""Events of a page as moments that ranks are compared by."""

from __future__ import annotations

import pytest

from ddpdoctor.observe.stream import BACKWARD, FORWARD, FORWARD_NO_SYNC, NOWHERE, UNREDUCED, Names, Translator
from ddpdoctor.probe import page as layout
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
