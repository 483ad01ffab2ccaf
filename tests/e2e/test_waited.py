"""Who is waited for, against the delays that were put in: at the end one line names rank, meeting and length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.job import STARTUP, torchrun, watch

PROGRAM = Path(__file__).parent / "programs" / "straggling.py"
RANKS, DELAY, STEPS = 4, 0.02, 600
#: kind -> the ranks that were delayed, what the others waited in, how often of all steps, and the line
KINDS: dict[str, tuple[set[int], str, float, str]] = {
    "data": ({2}, "backward", 1.0, "enumerate(DataLoader("),
    "host": ({1}, "backward", 1.0, "enumerate(DataLoader("),
    "backward": ({3}, "backward", 1.0, "loss.backward()"),
    "send": ({0}, "recv on rank 1", 1.0, "model(prepare("),
    "alternating": ({0, 1}, "backward", 0.5, "enumerate(DataLoader("),
    "none": (set(), "", 0.0, ""),
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_rank_that_is_waited_for(kind: str, tmp_path: Path) -> None:
    late, meeting, share, text = KINDS[kind]
    done = watch(torchrun(PROGRAM, RANKS, kind, str(DELAY), str(STEPS)), tmp_path, timeout=STARTUP + 120)
    assert done.status == 0, done.explain()
    waited = done.report["waited"]
    found: list[dict[str, Any]] = waited["stragglers"]
    assert {one["rank"] for one in found} == late, waited
    for one in found:
        assert one["meeting"] == meeting
        assert one["last"] / one["meetings"] == pytest.approx(share, rel=0.1)
        assert one["seconds"] == pytest.approx(DELAY, rel=0.1)
        line = PROGRAM.read_text().splitlines()[one["location"]["line"] - 1]
        assert text in line, one
    assert ("ranks waited" in done.stderr) == bool(late)
