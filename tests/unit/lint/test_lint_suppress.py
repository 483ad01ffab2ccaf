"""Suppression comments: their forms, the lines they cover, and the finding for those that suppress nothing."""

from __future__ import annotations

import pytest

from ddpdoctor.lint import registry
from ddpdoctor.lint.linter import Linter
from ddpdoctor.lint.settings import Settings

HEAD = "import torch.distributed as dist\nif dist.get_rank() == 0:\n"


def _found(source: str, *, select: str = "") -> list[tuple[str, int]]:
    codes = frozenset(select.split()) if select else registry.defaults()
    findings = Linter(Settings(codes)).bytes("x.py", source.encode(), named=True).findings
    return [(f.code, f.line) for f in findings]


@pytest.mark.parametrize(
    "comment",
    [
        "# ddpdoctor: ignore[DD111] only rank 0 is left",
        "# ddpdoctor:ignore[dd111]",
        "# ddpdoctor: ignore [DD111]",
        "# ddpdoctor: IGNORE[DD111]",
        "# ddpdoctor: ignore[collective-under-rank-branch]",
        "# ddpdoctor: ignore[Collective-Under-Rank-Branch]",
        "# ddpdoctor: ignore",
        "# ddpdoctor: ignore only rank 0 is left",
        "# type: ignore # ddpdoctor: ignore[DD111]",
        "# noqa",
        "# NOQA: dd111",
        "# noqa:E501,DD111",
        "# noqa: DD111 E501",
    ],
)
def test_silencing(comment: str) -> None:
    assert _found(f"{HEAD}    dist.barrier()  {comment}\n") == []


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# ddpdoctor: ignore[DD112]", ["DD111", "DD198"]),
        ("# ddpdoctor: ignore[DD111, DD112]", ["DD198"]),
        ("# ddpdoctor: ignore[DD11]", ["DD111", "DD198"]),
        ("# ddpdoctor: ignore[no-such-rule]", ["DD111", "DD198"]),
        ("# ddpdoctor: ignore[E501]", ["DD111", "DD198"]),
        ("# ddpdoctor: ignore DD111", ["DD111", "DD197"]),
        ("# ddpdoctor: ignore: DD111", ["DD111", "DD197"]),
        ("# ddpdoctor: ignore(DD111)", ["DD111", "DD197"]),
        ("# ddpdoctor: ignore[DD111", ["DD111", "DD197"]),
        ("# ddpdoctor: ignore[]", ["DD111", "DD197"]),
        ("# ddpdoctor: ignored[DD111]", ["DD111", "DD197"]),
        ("# noqa: E501", ["DD111"]),
        ("# noqa: DD112", ["DD111", "DD198"]),
        ("# noqa: DD111, DD112", ["DD198"]),
        ("; x = '# ddpdoctor: ignore'", ["DD111"]),
        ("# ddpdoctor ignore", ["DD111"]),
    ],
)
def test_what_silences_nothing_is_told(comment: str, codes: list[str]) -> None:
    assert [code for code, _ in _found(f"{HEAD}    dist.barrier(){comment}\n")] == codes


def test_a_rule_that_is_not_run_cannot_make_its_comment_unused() -> None:
    for listed in ("DD124", "rank0-side-effect-without-barrier"):
        source = f"x = 1  # ddpdoctor: ignore[{listed}]\n"
        assert _found(source, select="DD111 DD198") == []
        assert _found(source, select="DD124 DD198") == [("DD198", 1)]
        assert _found(source, select="DD124") == []
    assert _found("x = 1  # noqa\ny = 1  # noqa: E501\n") == []


def test_lines_that_are_covered() -> None:
    call = "    dist.all_reduce(  {}\n        x,  {}\n    )  {}\n"
    comment = "# ddpdoctor: ignore[DD111]"
    for places in ((comment, "", ""), ("", comment, ""), ("", "", comment)):
        assert _found(HEAD + call.format(*places)) == []
    assert _found(f"{HEAD}    {comment}\n    # and why\n    dist.barrier()\n") == []
    assert _found(f"{HEAD}    {comment}\n\n    dist.barrier()\n") == [("DD198", 3), ("DD111", 5)]
    assert _found(f"{HEAD}    # noqa: DD112\n    dist.barrier()\n") == [("DD198", 3), ("DD111", 4)]
    decorated = f"import torch.distributed as dist\n@wrap  {comment}\ndef f():\n    if dist.get_rank() == 0:\n"
    assert _found(f"{decorated}        dist.barrier()\n") == [("DD198", 2), ("DD111", 5)]


def test_a_whole_file() -> None:
    for comment in ("# ddpdoctor: ignore-file", "# ddpdoctor:ignore-file generated"):
        assert _found(f"{HEAD}    dist.barrier()\n{comment}\n") == []
    assert _found(f"{HEAD}    dist.barrier()\nx = '# ddpdoctor: ignore-file'\n") == [("DD111", 3)]
