"""Whether the data of a loop may go round without an end of their own."""

from __future__ import annotations

import pytest

from ddpdoctor.diagnose.endless_loops import is_joined, takes_again
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.stacks import Site

FILE = "/job/train.py"
EPOCHS = "for epoch in range(3):\n    for batch in loader:  # here\n        step(batch)\n"


@pytest.mark.parametrize(
    ("text", "again"),
    [
        pytest.param(EPOCHS, False, id="once in each epoch"),
        pytest.param("trainer.fit(model, loader)  # here\n", False, id="a framework's loop"),
        pytest.param("def rows():\n    for batch in loader:  # here\n        yield batch\n", True, id="a generator"),
        pytest.param("while step < most:\n    for batch in loader:  # here\n        step += 1\n", True, id="while"),
        pytest.param("while more():\n" + EPOCHS.replace("\n", "\n    ").join(["    ", "pass\n"]), False, id="a search"),
        pytest.param("for _ in range(9):\n    batch = next(rows)  # here\n", True, id="next"),
    ],
)
def test_takes_again(text: str, again: bool) -> None:
    (line,) = [number for number, one in enumerate(text.splitlines(), 1) if one.endswith("# here")]
    assert takes_again({FILE: SourceFile(FILE, text)}, Site(FILE, line, "main")) is again


def test_what_is_not_known_may_go_round() -> None:
    assert takes_again({}, Site(FILE, 1, "main"))


@pytest.mark.parametrize(("context", "joined"), [("Join([model])", True), ("model.join()", True), ("lock", False)])
def test_is_joined(context: str, joined: bool) -> None:
    text = f"with {context}:\n    for batch in loader:\n        step(batch)\n"
    assert is_joined({FILE: SourceFile(FILE, text)}, Site(FILE, 2, "main")) is joined
