"""The call that stands for a line that is too long."""

from __future__ import annotations

import pytest

from ddpdoctor.model.diagnosis import Location
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.report import RankStatus
from ddpdoctor.report import rank_rows
from ddpdoctor.report.call_text import call_of
from ddpdoctor.report.terminal_text import Style

LINE = "epoch_summary['validation/accuracy'] = self.metrics.compute(epoch)"


@pytest.mark.parametrize(
    ("source", "label", "call"),
    [
        (LINE, "all_gather seq 3", "self.metrics.compute(epoch)"),
        ("total = float(reduce(x)) + dist.all_reduce(t)", "all_reduce seq 8", "dist.all_reduce(t)"),
        ("    if model.ready(batch):", "barrier seq 1", "model.ready(batch)"),
        ("return gather(parts)", "", "gather(parts)"),
        ("x = 1", "barrier", ""),
        ("loss = model(", "barrier", ""),
        ("", "", ""),
    ],
)
def test_the_call_of_a_line(source: str, label: str, call: str) -> None:
    assert call_of(source, label) == call


def test_a_line_that_does_not_fit_is_shown_by_its_call() -> None:
    place = Location(RankSet.of([0]), "/a/train.py", 88, "f", LINE)
    rows = rank_rows.merge([RankStatus(Rank(0), "waiting", "all_gather seq 3", place, -1)], RankSet())

    def shown(width: int) -> str:
        return "\n".join(rank_rows.table(rows, RankSet(), most=4, width=width, style=Style()))

    assert "self.metrics.compute(epoch)" in shown(100)
    assert "epoch_summary" not in shown(100)
    assert "epoch_summary['validation/accuracy']" in shown(140)
