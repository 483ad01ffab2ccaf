"""Whether a batch that nothing is done with is a turn less of the loop, or is replaced by the next one."""

from __future__ import annotations

import pytest

from ddpdoctor.diagnose.batch_of_turn import is_one_of_each_turn
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.stacks import Site

FILE = "/job/train.py"
SKIPS = "    if bad(batch):\n        continue\n    train(batch)\n"
TAKES = "    batch = next(rows)  # here\n"
ENDS = "    try:\n        batch = next(rows)  # here\n    except StopIteration:\n        break\n"
COUNTS = "    step += 1\n"


@pytest.mark.parametrize(
    ("text", "one"),
    [
        pytest.param("for batch in iter(rows):  # here\n" + SKIPS, True, id="for"),
        pytest.param("for step in range(9):\n" + TAKES + SKIPS, True, id="so many turns"),
        pytest.param("while (batch := next(rows, None)) is not None:  # here\n" + SKIPS, True, id="until no more"),
        pytest.param("while True:\n" + ENDS + SKIPS, True, id="until StopIteration"),
        pytest.param(
            "while True:\n    batch = next(rows, None)  # here\n    if batch is None:\n        break\n" + SKIPS,
            True,
            id="until None",
        ),
        pytest.param(
            "while True:\n" + TAKES + "    if place(batch) is None:\n        break\n" + SKIPS,
            False,
            id="until something else is None",
        ),
        pytest.param("while step < most:\n" + TAKES + COUNTS + SKIPS, True, id="turns are counted"),
        pytest.param("while self.step < most:\n" + TAKES + "    self.step += 1\n" + SKIPS, True, id="by an attribute"),
        pytest.param("while step < most:\n" + TAKES + SKIPS + COUNTS, False, id="what was done is counted"),
        pytest.param("while step < most:\n" + TAKES + SKIPS, False, id="counted elsewhere"),
        pytest.param("while bad(batch := next(rows)):  # here\n    pass\n", False, id="a search"),
        pytest.param("while True:\n" + TAKES + "    if good(batch):\n        break\n", False, id="a search with break"),
        pytest.param("for _ in range(3):\n" + TAKES + "    if good(batch):\n        break\n", False, id="some tries"),
        pytest.param(
            "for step in range(9):\n    if bad(batch):\n        batch = next(rows)  # here\n    train(batch)\n",
            False,
            id="only a bad one is replaced",
        ),
        pytest.param("def take(rows):\n    return next(rows)  # here\n", False, id="the loop is elsewhere"),
    ],
)
def test_is_one_of_each_turn(text: str, one: bool) -> None:
    (line,) = [number for number, part in enumerate(text.splitlines(), 1) if part.endswith("# here")]
    assert is_one_of_each_turn({FILE: SourceFile(FILE, text)}, Site(FILE, line, "main")) is one


def test_unknown_source_tells_nothing() -> None:
    assert not is_one_of_each_turn({}, Site(FILE, 1, "main"))
