"""What lint finds in a file depends on the file and what it imports alone: not on which files came before it in the
process, on what the process still keeps of them, or on the number of processes.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from ddpdoctor.lint import engine, registry
from ddpdoctor.lint.file_result import FileResult
from ddpdoctor.lint.linter import Linter
from ddpdoctor.lint.settings import Settings
from ddpdoctor.program import project

SETTINGS = Settings(registry.defaults())
_HEAD = "import torch.distributed as dist\n"
_HELPERS = (
    "def is_main():\n    return dist.get_rank() == 0\n",
    "def is_main():\n    return True\n",
    "def is_main():\n    dist.barrier()\n    return dist.get_rank() == 0\n",
    "from {other} import is_main\n",
)
_USERS = (
    "from {other} import is_main\n\ndef run():\n    if is_main():\n        dist.barrier()\n",
    "from {other} import is_main\n\ndef run(x):\n    if not is_main():\n        return\n    dist.all_reduce(x)\n",
    "import {other}\n\nclass Trainer:\n    def __init__(self):\n        self.main = {other}.is_main()\n\n"
    "    def fit(self):\n        if self.main:\n            dist.barrier()\n",
)
_NAMES = ("one", "two", "three", "four")

_CONTENT = st.tuples(st.sampled_from((*_HELPERS, *_USERS)), st.sampled_from(_NAMES))
_PROJECTS = st.lists(_CONTENT, min_size=len(_NAMES), max_size=len(_NAMES))


@contextmanager
def _project(contents: list[tuple[str, str]]) -> Iterator[list[str]]:
    """The files of a project in an empty working directory."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for name, (text, other) in zip(_NAMES, contents, strict=True):
                Path(f"{name}.py").write_text(_HEAD + text.format(other=other))
            yield [f"{name}.py" for name in _NAMES]
        finally:
            os.chdir(before)


def _alone(path: str) -> FileResult:
    return Linter(SETTINGS).file(path, named=True)


def test_the_pieces_make_findings() -> None:
    contents = [(_HELPERS[0], "one"), *((user, "one") for user in _USERS)]
    with _project(contents) as paths:
        assert [bool(_alone(path).findings) for path in paths] == [False, True, True, True]


@given(_PROJECTS, st.permutations(_NAMES), st.sampled_from((0, 100, project.KEPT)))
def test_any_order_and_any_memory_of_earlier_files(
    contents: list[tuple[str, str]], order: list[str], kept: int
) -> None:
    with _project(contents) as paths, mock.patch.object(project, "KEPT", kept):
        linter = Linter(SETTINGS)
        together = {path: linter.file(path, named=True) for path in (f"{name}.py" for name in order)}
        assert together == {path: _alone(path) for path in paths}


@given(_PROJECTS, st.permutations(_NAMES))
@settings(max_examples=10)
def test_any_number_of_processes(contents: list[tuple[str, str]], order: list[str]) -> None:
    with _project(contents) as paths:
        one = engine.lint(paths, SETTINGS, jobs=1)
        with mock.patch.object(engine, "FEW", 0), mock.patch.object(engine, "SMALL", 1):
            two = engine.lint([f"{name}.py" for name in order], SETTINGS, jobs=2)
        assert sorted(two.findings, key=repr) == sorted(one.findings, key=repr)
