"""Where py-spy is missing, or the kernel refuses it, the verdict is the same."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from benchmarks import without_ptrace
from benchmarks.without_ptrace import ABSENT, REFUSED
from ddpdoctor.repro import catalogue

#: a cycle of receives; a main thread in a lock; a data worker
SHOWN = ("p2p-deadlock", "lock-wait", "data-worker-stuck")


@pytest.mark.parametrize(("name", "way"), [(name, way) for name in SHOWN for way in (ABSENT, REFUSED)])
def test_same_code_and_culprits_and_a_proof(name: str, way: str, tmp_path: Path) -> None:
    if way == REFUSED and (os.geteuid() != 0 or shutil.which("setcap") is None):
        pytest.skip("only root can give a program a capability")
    case = catalogue.load(catalogue.root() / name)
    told = without_ptrace.run(case, way, tmp_path)
    assert without_ptrace.difference(told, None) == ""
    assert told.own_stacks
