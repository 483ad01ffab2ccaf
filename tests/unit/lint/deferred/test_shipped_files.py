"""A file that all ranks would make where it is missing does no harm where the repository has it."""

from __future__ import annotations

import pytest

from ddpdoctor.lint import engine
from ddpdoctor.lint.settings import Settings
from tests.unit.lint.deferred.test_deferred_findings import Repository, repository

__all__ = ["repository"]

DATA = """\
import os
from pathlib import Path

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import Dataset


class Rooms(Dataset):
    def __init__(self, root, split):
        {path}
        {test}
            self.make(path)
        self.rows = open(path).read().split()

    def make(self, path):
        with open(path, "w") as stream:
            stream.write("a b")


def main(root):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(build())
    for batch in Rooms(root, "train"):
        net(batch).backward()


if __name__ == "__main__":
    main("data")
"""
RUN = {"run.sh": "torchrun --nproc_per_node 4 train.py\n"}
PATH, TEST = 'path = os.path.join(root, f"rooms_{split}.txt")', "if not os.path.exists(path):"


def severity() -> str:
    (finding,) = engine.lint(["."], Settings(frozenset({"DD124"}))).findings
    return finding.severity.value


@pytest.mark.parametrize(
    ("path", "test", "held", "severity_"),
    [
        (PATH, TEST, "data/rooms_train.txt", "hint"),
        (PATH, TEST, "data/halls_train.txt", "warning"),
        (PATH, "if not os.path.isfile(path):", "data/rooms_train.txt", "hint"),
        (PATH, "if os.path.exists(path):\n            pass\n        else:", "data/rooms_train.txt", "hint"),
        ("path = Path(root) / 'data' / 'rooms.txt'", "if not path.exists():", "data/rooms.txt", "hint"),
        ("path = Path(root) / 'data' / 'rooms.txt'", "if not path.exists():", "more/rooms.txt", "warning"),
        ("path = root + 'rooms.txt'", TEST, "data/rooms.txt", "hint"),
        ("path = 'data/rooms.txt'", TEST, "data/rooms.txt", "hint"),
        ("path = os.path.join(root, split)", TEST, "data/rooms_train.txt", "warning"),
        ("path = os.path.join(root, split + '.txt')", TEST, "data/rooms_train.txt", "warning"),
        ("path = os.path.join(root, 'rooms.txt')\n        path = pick(path)", TEST, "data/rooms.txt", "warning"),
    ],
)
def test_a_file_that_the_repository_has(
    path: str, test: str, held: str, severity_: str, repository: Repository
) -> None:
    repository({"train.py": DATA.format(path=path, test=test), held: "a b", **RUN})
    assert severity() == severity_


@pytest.mark.parametrize(("index", "severity_"), [("data/rooms_train.txt", "hint"), ("data/README.md", "warning")])
def test_what_a_run_has_left_there_is_not_of_the_repository(index: str, severity_: str, repository: Repository) -> None:
    files = {"train.py": DATA.format(path=PATH, test=TEST), "data/rooms_train.txt": "a b", **RUN}
    repository({**files, ".git/index": f"DIRC {index} TREE"})
    assert severity() == severity_
