"""A forward through the wrapper that one rank alone runs."""

from __future__ import annotations

from ddpdoctor.model.diagnosis import Confidence
from tests.unit.diagnose.builders import Doing, job
from tests.unit.diagnose.stories import AT
from tests.unit.diagnose.verdicts import everywhere, first


@everywhere
def test_forward_of_one_rank(size: int, odd: int) -> None:
    # GIVEN a rank inside the broadcast of buffers that its own forward issued, the others in a barrier behind it
    text = "def score(net):\n    return net(held_out)\n\ntrain()\nif rank == 0:\n    score(net)\ndist.barrier()\n"
    alone = [AT.forward(2), AT.broadcast(2, 0, function="score")]
    usual = Doing([*AT.step(10), AT.all("barrier", 7)])
    strange = Doing([*AT.step(10), *alone], callers=(AT.line(6),))
    found = first(job([strange if rank == odd else usual for rank in range(size)], code={AT.file: text}))
    assert (found.code, found.confidence) == ("DD205", Confidence.CERTAIN)
    assert found.culprits.members == (odd,)
    assert found.locations[0].line == 2
