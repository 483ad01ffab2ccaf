"""Whether the name that is passed to a function is one for which it fetches a file."""

from __future__ import annotations

import pytest

from ddpdoctor.lint import engine
from ddpdoctor.lint.settings import Settings
from tests.unit.lint.deferred.test_deferred_findings import Repository, repository

__all__ = ["repository"]

NETS = """\
import os
import urllib.request

NETS = {"small": "https://host.org/small.pt", "large": "https://host.org/large.pt"}


def fetch(url):
    target = os.path.basename(url)
    if not os.path.isfile(target):
        urllib.request.urlretrieve(url, target)
    return target


def load(name, device="cpu"):
    if name in NETS:
        return fetch(NETS[name])
    return name
"""

BY_OPTION = """\
import argparse

import torch.distributed as dist

import nets

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--net", default={default})
    args = parser.parse_args()
    dist.init_process_group("nccl")
    nets.load({passed})
"""

BY_SETTING = """\
import torch.distributed as dist

import nets


def main(cfg):
    dist.init_process_group("nccl")
    nets.load(name=cfg.model.net)


if __name__ == "__main__":
    main(read_settings())
"""


def _severity() -> str:
    (finding,) = engine.lint(["."], Settings(frozenset({"DD124"}))).findings
    return finding.severity.value


@pytest.mark.parametrize(
    ("default", "passed", "command", "severity"),
    [
        ("None", "args.net", "torchrun train.py --net weights/mine.pt", "hint"),
        ("'weights/mine.pt'", "args.net", "torchrun train.py", "hint"),
        ("None", "args.net", "torchrun train.py", "hint"),
        ("'small'", "args.net", "torchrun train.py", "warning"),
        ("'small'", "args.net", "torchrun train.py --net weights/mine.pt", "hint"),
        ("None", "args.net", "torchrun train.py --net small", "warning"),
        ("None", "args.net", "torchrun train.py --net $NET", "warning"),
        ("None", "args.net", "torchrun train.py --settings run.yaml", "warning"),
        ("pick()", "args.net", "torchrun train.py", "warning"),
        ("None", "args.net + '.pt'", "torchrun train.py", "warning"),
    ],
)
def test_an_option(default: str, passed: str, command: str, severity: str, repository: Repository) -> None:
    program = BY_OPTION.format(default=default, passed=passed)
    repository({"train.py": program, "nets.py": NETS, "run.sh": f"{command}\n"})
    assert _severity() == severity


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"a.yaml": "model:\n  net: weights/mine.pt\n"}, "hint"),
        ({"a.yaml": "model:\n  net: weights/mine.pt\n", "b.yaml": "model:\n  net: large\n"}, "warning"),
        ({"a.yaml": "model:\n  net: ${oc.env:NET}\n"}, "warning"),
        ({"a.yaml": "model:\n  net: null\n"}, "hint"),
        ({}, "warning"),
    ],
)
def test_a_setting_of_files(files: dict[str, str], severity: str, repository: Repository) -> None:
    repository({"train.py": BY_SETTING, "nets.py": NETS, "run.sh": "torchrun train.py\n", **files})
    assert _severity() == severity


def test_a_function_that_fetches_for_others_too(repository: Repository) -> None:
    also = "def load_any(url):\n    return fetch(url)\n"
    program = BY_OPTION.format(default="None", passed="args.net")
    repository({"train.py": program, "nets.py": f"{NETS}\n\n{also}", "run.sh": "torchrun train.py\n"})
    assert _severity() == "hint"
