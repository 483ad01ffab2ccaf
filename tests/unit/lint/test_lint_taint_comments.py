"""`uniform(...)` and `rank-local(...)`: the statement a comment applies to, and the finding if there is none."""

from __future__ import annotations

import pytest

from ddpdoctor.lint import registry
from ddpdoctor.lint.linter import Linter
from ddpdoctor.lint.settings import Settings

SETTINGS = Settings(registry.defaults(), hints=frozenset())
LATE = "time.time() > start"


def _found(body: str) -> list[tuple[str, str]]:
    text = f"import time\nimport torch.distributed as dist\n\n\ndef f(start, end):\n{body}\n"
    return [(f.code, f.message) for f in Linter(SETTINGS).bytes("x.py", text.encode(), named=True).findings]


@pytest.mark.parametrize(
    "body",
    [
        f"    stop = {LATE}  # ddpdoctor: uniform(stop)\n    if stop:\n        dist.barrier()",
        f"    if {LATE}: dist.barrier()  # ddpdoctor: uniform({LATE})",
        f"    if {LATE}: dist.barrier()  # ddpdoctor: Uniform ( time.time()>start ) the scheduler's clock",
        f"    if (stop := {LATE}): dist.barrier()  # ddpdoctor: uniform(stop := {LATE})",
        f"    a, b = {LATE}, {LATE}  # ddpdoctor: uniform(a), uniform(b)\n    if a or b:\n        dist.barrier()",
        f"    a, b = {LATE}, {LATE}  # ddpdoctor: uniform(a) uniform(b) both\n    if a or b:\n        dist.barrier()",
        f"    stop = (\n        {LATE}\n    )  # ddpdoctor: uniform(stop)\n    if stop:\n        dist.barrier()",
        f"    # ddpdoctor: uniform({LATE})\n    # by the scheduler's clock\n    if {LATE}:\n        dist.barrier()",
    ],
)
def test_a_branch_is_taught(body: str) -> None:
    assert _found(body) == []
    assert [code for code, _ in _found(body.replace("ddpdoctor:", ""))] == ["DD114"]


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("uniform(stopp)", "`stopp` does not occur"),
        ("uniform(stop), uniform(start)", "`start` does not occur"),
        ("uniform()", "not a Python expression"),
        ("uniform(stop", "not a Python expression"),
        ("uniform stop", "expression in parentheses"),
        ("uniform", "expression in parentheses"),
        ("unifrom(stop)", "does not know 'unifrom'"),
        ("rank_local(stop)", "does not know 'rank_local'"),
        ("", "nothing follows"),
    ],
)
def test_a_comment_without_effect_is_told(comment: str, said: str) -> None:
    ((code, message),) = _found(f"    stop = end  # ddpdoctor: {comment}")
    assert code == "DD197"
    assert said in message


def test_behind_the_last_statement_there_is_none() -> None:
    ((_, message),) = _found("    return end\n# ddpdoctor: uniform(end)")
    assert "there is no statement" in message
