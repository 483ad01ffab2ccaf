"""Ranks that wait for a key of the store: which key, and which rank should have set it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.blocked.store_keys import setters
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.diagnose.facts import Facts, digest
from ddpdoctor.model.collectives import Call, Kind
from ddpdoctor.model.diagnosis import Confidence, Outcome
from ddpdoctor.model.evidence import Evidence, SourceFile
from tests.unit.diagnose.builders import At, Doing, job

FILE = "/job/train.py"


def code(*lines: str) -> dict[str, SourceFile]:
    return {FILE: SourceFile(FILE, "\n".join(lines) + "\n")}


def facts(*lines: str) -> Facts:
    """Of a job of four ranks whose source this is."""
    return digest(replace(job([Doing([AT.all("barrier", 1)])] * 4), code=code(*lines)))


@pytest.mark.parametrize(
    ("line", "key", "rank"),
    [
        ('store.set(f"result/{me}", x)', "result/3", 3),
        ('store.set("result/" + str(me), x)', "result/2", 2),
        ('store.set("result/%d" % me, x)', "result/0", 0),
        ('store.set("result/{}".format(me), x)', "result/1", 1),
        ('store.set("ready", x)', "ready", None),
        ('store.add(f"{name}/count", 1)', "eval/count", None),
        ('store.set(f"result/{me}", x)', "result/9", None),
    ],
)
def test_lines_that_set_a_key(line: str, key: str, rank: int | None) -> None:
    (found,) = setters(facts("import x", line), key)
    assert (found.site.line, found.rank, found.condition) == (2, rank, "")


@pytest.mark.parametrize(
    ("line", "key"),
    [('store.set(f"done/{me}", x)', "result/3"), ("store.set(key, x)", "result/3"), ('store.get("ready")', "ready")],
)
def test_lines_that_do_not(line: str, key: str) -> None:
    assert setters(facts(line), key) == ()


def test_a_setter_under_a_condition_on_the_rank() -> None:
    (found,) = setters(facts("if rank == 0:", '    store.set("ready", x)'), "ready")
    assert found.condition == "if rank == 0"


@pytest.mark.parametrize(
    ("test", "other", "rank"),
    [
        ("dist.get_rank() == 0", "pass", 0),
        ("dist.get_rank() != 0", "pass", None),
        ("dist.get_rank() == 0", "publish()", None),
        ("step > 3", "pass", None),
    ],
)
def test_the_rank_that_alone_comes_to_the_function_that_sets_it(test: str, other: str, rank: int | None) -> None:
    """The condition is around the only call of the function; a second call may be anybody's."""
    helper = ("import torch.distributed as dist", "def publish():", '    store.set("ready", x)')
    (found,) = setters(facts(*helper, f"if {test}:", "    publish()", other), "ready")
    assert found.rank == rank


AT = At()
KEY = "result/2"


def waiting(*text: str) -> Evidence:
    """Ranks 0 and 1 wait for a key, rank 2 is in a barrier."""
    usual = Doing([AT.all("barrier", 3)], blocked=False)
    evidence = job([usual, usual, Doing([AT.all("barrier", 3), AT.all("barrier", 9)])])
    ranks = []
    for seen in evidence.ranks:
        if seen.rank < 2 and seen.page and seen.recorder:
            call = Call(Kind.STORE, "get", seen.worker.pid, AT.line(7), 60.0, detail=KEY)
            seen = replace(seen, page=replace(seen.page, calls=(call,)), stacks=None)
        ranks.append(seen)
    return replace(evidence, ranks=tuple(ranks), code=code(*text))


def test_who_waits_for_which_key() -> None:
    report = examine(waiting('store.set(f"result/{dist.get_rank()}", x)'))
    found = report.diagnoses[0]
    assert (report.outcome, found.code, found.confidence) == (Outcome.HANG, "DD299", Confidence.POSSIBLE)
    assert f"ranks 0-1 wait in get for the store's key '{KEY}'" in found.summary
    # THEN the rank that owes the key is named, with what it does instead
    assert found.culprits.members == (2,)
    assert "on rank 2, which is in barrier" in found.why


def test_a_key_while_the_rank_that_owes_it_stands_still() -> None:
    evidence = waiting('store.set(f"result/{dist.get_rank()}", x)')
    seen = job([Doing([]), Doing([]), Doing([AT.all("barrier", 3)], blocked=False, stands=AT.line(9))]).ranks[2]
    found = examine(replace(evidence, ranks=(*evidence.ranks[:2], seen))).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD299", (2,))
    assert f"waits for the store's key '{KEY}'" in found.why


def test_a_key_that_no_line_sets() -> None:
    found = examine(waiting("pass")).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD299", ())
    assert f"No line that was read sets '{KEY}'" in found.why
