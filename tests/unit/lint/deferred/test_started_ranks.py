"""How the repository starts a program: with what option alone as several ranks, and as which of them."""

from __future__ import annotations

import pytest

from ddpdoctor.lint import engine
from ddpdoctor.lint.settings import Settings
from tests.unit.lint.deferred.test_deferred_findings import Repository, repository

__all__ = ["repository"]

BY_OPTION = """\
import argparse

import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torchvision.datasets import MNIST


def work(rank, args):
    if args.several:
        dist.init_process_group("nccl", rank=rank)
    net = build()
    data = MNIST(args.root, download=True)
    if args.several:
        net = DistributedDataParallel(net)
    for batch in data:
        net(batch).backward()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--root")
    parser.add_argument("--several", {default})
    args = parser.parse_args()
    if args.several:
        mp.spawn(work, nprocs=4, args=(args,))
    else:
        work(0, args)
"""


@pytest.mark.parametrize(
    ("default", "files", "severity"),
    [
        ('action="store_true"', {"run.sh": "python other.py\n"}, "hint"),
        ('action="store_true"', {"run.sh": "python train.py --root data\n"}, "hint"),
        ('action="store_true"', {"run.sh": "python train.py --several\n"}, "warning"),
        ('action="store_true"', {"run.sh": 'python train.py "$@"\n'}, "warning"),
        ('action="store_true"', {}, "warning"),
        ("default=True", {"run.sh": "python other.py\n"}, "warning"),
    ],
)
def test_ranks_that_only_an_option_starts(
    default: str, files: dict[str, str], severity: str, repository: Repository
) -> None:
    repository({"train.py": BY_OPTION.format(default=default), "other.py": "print(1)\n", **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD124"}))).findings
    assert finding.severity.value == severity


CLIENT = """\
import argparse

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--rank", type=int)
args = parser.parse_args()
dist.init_process_group("gloo", rank=args.rank, world_size=3)
part = torch.zeros(1)
if dist.get_rank() == 0:
    dist.all_reduce(part)
else:
    dist.send(part, dst=0)
"""


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("python client.py --rank 1 &\npython client.py --rank 2 &\n", False),
        ("python client.py --rank 0 &\npython client.py --rank 1 &\n", True),
        ("python client.py --rank $i &\npython client.py --rank 1 &\n", True),
        ("torchrun --nproc_per_node 3 client.py\n", True),
        ("", True),
    ],
)
def test_a_program_that_is_never_started_as_the_first_rank(script: str, told: bool, repository: Repository) -> None:
    repository({"client.py": CLIENT, "server.py": "print(1)\n", "run.sh": script})
    findings = engine.lint(["."], Settings(frozenset({"DD115", "DD121", "DD111", "DD140"}))).findings
    assert any(one.severity.value != "hint" for one in findings) is told
