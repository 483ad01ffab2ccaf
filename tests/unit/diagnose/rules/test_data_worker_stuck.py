"""Data workers that are stuck in the dataset's code."""

from __future__ import annotations

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Child, Motion
from ddpdoctor.model.stacks import Site
from tests.unit.diagnose.builders import TORCH, At
from tests.unit.diagnose.data_workers import fetching, worker

AT = At()


def test_a_worker_that_reads() -> None:
    found = examine(fetching(worker(AT.line(40, "__getitem__"), wchan="pipe_read"))).diagnoses[0]
    assert (found.code, found.confidence) == ("DD234", Confidence.LIKELY)
    assert found.culprits.members == (1,)
    # THEN the worker and its line are named, not only the rank
    assert "worker 7001" in found.summary
    assert found.locations[0].line == 40


@pytest.mark.parametrize(
    "child",
    [
        worker(wchan="do_poll"),  # waits for its next index
        worker(AT.line(40), wchan="0", motion=Motion(1.0, 0.9, 0, Observed.UNKNOWN, Observed.YES)),  # computes
    ],
)
def test_workers_that_are_not_to_blame(child: Child) -> None:
    codes = {diagnosis.code for diagnosis in examine(fetching(child)).diagnoses}
    assert not codes & {"DD234", "DD235"}


FETCH = Site(f"{TORCH}/utils/data/_utils/fetch.py", 33, "fetch")
STREAM = Site("/env/lib/python3.11/site-packages/tarlib/pipeline.py", 105, "__iter__")
READ = Site("/env/lib/python3.11/site-packages/tarlib/gopen.py", 104, "read")


def test_a_dataset_of_a_library_that_reads() -> None:
    """No line of the job is in the worker; what is shown is the loop that waits for it."""
    found = examine(fetching(worker(READ, STREAM, FETCH, wchan="anon_pipe_read"))).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD234", (1,))
    assert "pipeline.py:105" in found.summary
    assert (found.locations[0].file, found.locations[0].line) == (AT.file, 3)


def test_a_worker_that_waits_for_its_own_thread_is_in_no_lock_of_another_process() -> None:
    """A read-ahead thread died of an exception, and nobody puts into its queue any more."""
    get = (
        Site("/usr/lib/python3.11/threading.py", 327, "Condition.wait"),
        Site("/usr/lib/python3.11/queue.py", 171, "get"),
    )
    found = examine(fetching(worker(*get, AT.line(46, "__iter__"), FETCH, wchan="futex_do_wait"))).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD234", (1,), 46)
