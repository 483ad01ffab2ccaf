"""A pip-installed trainer is diagnosed like a script: its files are the job's own code wherever they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.diagnose.facts import digest
from ddpdoctor.model.stacks import Site
from tests.unit.diagnose.builders import At, Doing, job

PACKAGES = "/env/lib/python3.11/site-packages"
TRAINS = """\
for batch in loader:
    loss = model(batch)
    loss.backward()
    if loss < best:
        break
dist.barrier()
"""


def _left_early(file: str) -> tuple[str, str, str]:
    at = At(file)
    batch = [at.next(1), at.forward(2), at.backward(3)]
    began = (at.line(40, "<module>"), Site("<frozen runpy>", 88, "_run_code"))
    usual = Doing([*batch, *batch], callers=began)
    evidence = job([usual, Doing([*batch, at.all("barrier", 6)], callers=began), usual], code={file: TRAINS})
    found = examine(evidence).diagnoses[0]
    return found.code, found.locations[0].source, found.locations[0].file


@pytest.mark.parametrize("file", ["/job/train.py", f"{PACKAGES}/mytrainer/train.py"])
def test_the_diagnosis_is_the_same(file: str) -> None:
    assert _left_early(file) == ("DD206", "break", file)


def test_of_what_a_job_runs_all_ranks_tell() -> None:
    # GIVEN a rank whose main thread is on its way out, inside a library that nobody knows
    trainer, fabric = At(f"{PACKAGES}/mytrainer/train.py"), At(f"{PACKAGES}/fabric_comm/client.py")
    runs = Doing([trainer.all("barrier", 6)], callers=(trainer.line(40, "<module>"),))
    leaving = Doing([fabric.all("barrier", 9)], callers=(fabric.line(3, "close"),))
    facts = digest(job([runs, leaving]))
    assert facts.own == {"mytrainer"}
    assert not facts.is_library(trainer.file)
    assert facts.is_library(fabric.file)


def test_where_all_main_threads_have_left_the_pages_tell() -> None:
    trainer = At(f"{PACKAGES}/mytrainer/train.py")
    evidence = job([Doing([trainer.all("barrier", 6)])])
    (seen,) = evidence.ranks
    assert seen.page is not None
    page = replace(seen.page, own_packages=("mytrainer",))
    assert digest(evidence).own == frozenset()
    assert digest(replace(evidence, ranks=(replace(seen, page=page),))).own == {"mytrainer"}
