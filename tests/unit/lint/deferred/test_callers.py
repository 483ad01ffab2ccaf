"""Who calls a function, by its name, and whether a condition on the rank is on the way."""

from __future__ import annotations

import pytest

from ddpdoctor.lint.deferred.callers import MOST, Callers

KEEP = b"""
class Keeper:
    def keep(self, model):
        write(model)
"""


def never(**files: str) -> bool:
    texts = {f"/p/{name}.py": text.encode() for name, text in files.items()}
    return Callers({"/p/keep.py": KEEP, **texts}).never_choose("/p/keep.py", 4)


@pytest.mark.parametrize(
    "text",
    [
        "make().keep(model)\n",
        "def main():\n    make().keep(model)\n",
        "def fit():\n    for x in data:\n        if x.step % 9 == 0:\n            make().keep(x)\n\nfit()\n",
        'if __name__ == "__main__":\n    make().keep(model)\n',
    ],
    ids=["the module", "the first function", "a function that is called", "a script"],
)
def test_nobody_chooses(text: str) -> None:
    assert never(main=text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "def fit():\n    make().keep(model)\n",
        "if rank == 0:\n    make().keep(model)\n",
        "done = is_main and make().keep(model)\n",
        "done = make().keep(model) if is_main else None\n",
        "with main_process_first():\n    make().keep(model)\n",
        "@rank_zero_only\ndef fit():\n    make().keep(model)\n\nfit()\n",
        "def fit():\n    if rank != 0:\n        return\n    make().keep(model)\n\nfit()\n",
        "def fit():\n    assert rank == 0\n    make().keep(model)\n\nfit()\n",
        "def fit():\n    make().keep(model)\n\nif is_master():\n    fit()\n",
        "def keep(self):\n    keep()\n",
        "if not is_main_process():\n    keeper = Nothing()\nelse:\n    keeper = Keeper()\nkeeper.keep(model)\n",
    ],
    ids=[
        "never called", "called by a function that nobody calls", "if", "and", "a choice", "with", "a decorator",
        "an exit before it", "an assertion before it", "the caller's caller", "by itself",
        "another object on the others",
    ],
)  # fmt: skip
def test_somebody_may_choose_or_nobody_calls(text: str) -> None:
    assert not never(main=text)


def test_a_name_that_many_files_call_says_little() -> None:
    files = {f"m{n}": "make().keep(model)\n" for n in range(MOST + 1)}
    assert not never(**files)


def test_a_file_that_is_no_python_is_left_out() -> None:
    assert never(broken="keep( :\n", main="make().keep(model)\n")
