"""Lint with the cache finds what lint without it finds, after any sequence of edits to a small project."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.lint import cache, engine, registry
from ddpdoctor.lint.settings import Settings
from ddpdoctor.model.finding import Finding

SETTINGS = Settings(registry.defaults())
#: what decides whether `train.py` has a finding, and other files of its kind
_ROLES = (
    "import torch.distributed as dist\n\ndef is_main():\n    return dist.get_rank() == 0\n",
    "def is_main():\n    return True\n",
    "import torch.distributed as dist\n\ndef is_main():\n    dist.barrier()\n    return dist.get_rank() == 0\n",
    "from helpers import is_main\n",
    "from .helpers import is_main\n",
    "def is_main(:\n",
    "",
)
_TRAIN = """import torch.distributed as dist
from {module} import is_main

def main():
    if is_main():
        dist.barrier()
"""
_MODULES = ("roles", "helpers", "pkg.roles", "pkg")
_PATHS = ("roles.py", "helpers.py", "pkg/__init__.py", "pkg/roles.py", "pkg/helpers.py", "src/roles.py",
          "pyproject.toml", "roles/__init__.py")  # fmt: skip

_EDITS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(_PATHS), st.sampled_from(_ROLES)),
    st.tuples(st.just("write"), st.sampled_from(("train.py", "pkg/train.py")),
              st.sampled_from([_TRAIN.format(module=module) for module in _MODULES])),
    st.tuples(st.just("remove"), st.sampled_from((*_PATHS, "train.py")), st.just("")),
    st.tuples(st.just("rename"), st.sampled_from(_PATHS), st.sampled_from(_PATHS)),
)  # fmt: skip


def _edit(kind: str, path: str, argument: str) -> None:
    if kind == "write":
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_text(argument)
    elif kind == "remove":
        Path(path).unlink(missing_ok=True)
    elif Path(path).is_file():
        Path(argument).parent.mkdir(exist_ok=True)
        Path(path).replace(argument)


@contextmanager
def _project() -> Iterator[None]:
    """An empty working directory, and a cache of its own."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as kept:
        os.chdir(folder)
        try:
            with mock.patch.dict(os.environ, XDG_CACHE_HOME=kept):
                yield
        finally:
            os.chdir(before)


def _found(kept: cache.Cache | None) -> tuple[Finding, ...]:
    return engine.lint(["."], SETTINGS, cache=kept).findings


@given(st.lists(st.lists(_EDITS, min_size=1, max_size=3), min_size=1, max_size=5))
def test_the_cache_changes_no_finding(rounds: list[list[tuple[str, str, str]]]) -> None:
    with _project():
        for number, edits in enumerate([[("write", "train.py", _TRAIN.format(module="roles"))], *rounds]):
            for edit in edits:
                _edit(*edit)
            kept = cache.opened(SETTINGS)
            assert kept is not None
            assert _found(kept) == _found(None), f"after round {number}: {edits}"
