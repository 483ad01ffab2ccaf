"""Steps that one rank ran under no_sync."""

from __future__ import annotations

from ddpdoctor.model.diagnosis import Confidence
from tests.unit.diagnose import stories
from tests.unit.diagnose.stories import among
from tests.unit.diagnose.verdicts import everywhere, first


@everywhere
def test_step_under_no_sync(size: int, odd: int) -> None:
    found = first(among(size, odd, stories.without_sync))
    assert (found.code, found.confidence) == ("DD217", Confidence.CERTAIN)
    assert found.culprits.members == (odd,)
    assert found.culprit_confidence is (Confidence.LIKELY if size == 2 else Confidence.CERTAIN)
