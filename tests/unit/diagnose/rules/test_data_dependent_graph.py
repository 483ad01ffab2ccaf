"""A branch of the model that one rank did not use."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.evidence import Evidence
from tests.unit.diagnose import stories
from tests.unit.diagnose.stories import AT, among
from tests.unit.diagnose.verdicts import everywhere, first


@everywhere
def test_unused_branch(size: int, odd: int) -> None:
    # GIVEN histories without a parting: the odd rank's backward returned with one all_reduce fewer
    found = first(unused_branch(size, odd))
    assert (found.code, found.confidence) == ("DD209", Confidence.CERTAIN)
    assert found.culprits.members == (odd,)
    assert found.culprit_confidence is (Confidence.LIKELY if size == 2 else Confidence.CERTAIN)
    # WHEN the odd rank's counters are not known THEN nobody is named for certain
    ranks = list(unused_branch(size, odd).ranks)
    ranks[odd] = replace(ranks[odd], page=None)
    report = examine(replace(unused_branch(size, odd), ranks=tuple(ranks)))
    assert all(diagnosis.confidence is not Confidence.CERTAIN for diagnosis in report.diagnoses)


def unused_branch(size: int, odd: int) -> Evidence:
    evidence = among(size, odd, lambda: stories.after_loop([*stories.epoch(4), AT.stop(stories.LOOP)]))
    ranks = []
    for seen in evidence.ranks:
        assert seen.page is not None
        assert seen.recorder is not None
        if seen.rank == odd:
            kept = (*seen.recorder.entries[:3], replace(seen.recorder.entries[-1], seq=4))
            ranks.append(replace(seen, recorder=replace(seen.recorder, entries=kept)))
        else:
            inside = replace(seen.page.counters, backward_left=seen.page.counters.backward_entered - 1)
            ranks.append(replace(seen, page=replace(seen.page, counters=inside)))
    return replace(evidence, ranks=tuple(ranks))
