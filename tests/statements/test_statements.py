"""The checker of statements finds nothing in true ones, and finds what is false in false ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.evidence import Evidence
from tests.statements import forms
from tests.statements.check import NO_FORM, check, texts, wrong_in
from tests.statements.claims import Case
from tests.statements.mutations import MUTATIONS
from tests.statements.unsupported import unsupported
from tests.statements.witness import Witness
from tests.unit.diagnose import stories
from tests.unit.diagnose.divergence.examples import EXAMPLES

STORIES = (stories.ran_out, stories.left_early, stories.skipped, stories.without_sync, stories.saves_alone)
EVIDENCE: dict[str, Evidence] = {
    **{story.__name__: stories.among(4, 2, story) for story in STORIES},
    **{cause.name: evidence for cause, evidence in EXAMPLES.items()},
}
#: the least share of false statements that is caught. Not all can be: no evidence says on which ranks a condition held,
#: and a line of source that nobody was at is known to exist at most
CAUGHT = {"ranks exchanged": 0.8, "line shifted": 0.85, "count changed": 1.0}


def statements() -> Iterator[tuple[str, Case]]:
    """All true statements of these diagnoses that can be checked."""
    for evidence in EVIDENCE.values():
        witness = Witness(evidence)
        for diagnosis in examine(evidence).diagnoses:
            case = Case(witness, diagnosis)
            yield from ((text, case) for _, text in texts(diagnosis) if not wrong_in(text, case))


@pytest.mark.parametrize("name", EVIDENCE)
def test_what_is_said_is_supported(name: str) -> None:
    evidence = EVIDENCE[name]
    diagnoses = examine(evidence).diagnoses
    assert check(diagnoses, evidence).checked > 2
    assert unsupported(diagnoses, evidence) == []


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_what_is_false_is_caught(mutation: str) -> None:
    false = [(text, case) for true, case in statements() for text in MUTATIONS[mutation](true)]
    caught = sum(bool(wrong_in(text, case)) for text, case in false)
    assert len(false) > 20
    assert caught / len(false) >= CAUGHT[mutation], f"{caught} of {len(false)}"


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda text: text.replace("rank 2", "rank 7"), "the job has no rank [7]"),
        (lambda text: text.replace("rank 2 runs out", "rank 1 runs out"), "loaders"),
        (lambda text: text.replace("after 3 batches", "after 2 batches"), "{3}, not 2"),
        (lambda text: text.replace("got 4", "got 5"), "{4}, not 5"),
        (lambda text: text.replace("train.py:10", "train.py:11"), "no data loop is at train.py:11"),
        (lambda text: text.replace("runs out of data", "has eaten all data"), NO_FORM),
    ],
)
def test_what_is_wrong_is_named(change: Callable[[str], str], wrong: str) -> None:
    evidence = EVIDENCE["ran_out"]
    diagnosis = examine(evidence).diagnoses[0]
    case = Case(Witness(evidence), diagnosis)
    assert wrong_in(diagnosis.summary, case) == []
    false = change(diagnosis.summary)
    assert false != diagnosis.summary
    assert wrong_in(false, case), false
    if wrong != "loaders":
        assert wrong in " ".join(wrong_in(false, case))


def test_a_sentence_that_names_nothing_needs_no_form() -> None:
    case = Case(Witness(EVIDENCE["ran_out"]), examine(EVIDENCE["ran_out"]).diagnoses[0])
    assert wrong_in("Neither side can finish, see `train.py:7` (DD201).", case) == []
    assert wrong_in("Neither of 3 sides can finish.", case) == [NO_FORM]


def test_no_form_is_there_twice() -> None:
    assert len({one.text for one in forms.known()}) == len(forms.known()) > 200
