"""Whose code a file is: from the forms of paths on all kinds of machines, and from what a job runs."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

import ddpdoctor
from ddpdoctor.program import libraries
from ddpdoctor.program.libraries import Kind, is_own, origin, own_packages

NONE: frozenset[str] = frozenset()
RUNPY = "<frozen runpy>"
TORCH = "/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"
TRAINER = "/env/lib/python3.11/site-packages/mytrainer/train.py"
FABRIC = "/env/lib/python3.11/site-packages/fabric_comm/__init__.py"
ACCELERATE = "/env/lib/python3.11/site-packages/accelerate/accelerator.py"


@pytest.mark.parametrize(
    "file",
    [
        "/usr/lib/python3.11/threading.py",
        "/usr/lib64/python3.9/multiprocessing/spawn.py",
        "/home/ann/.pyenv/versions/3.10.4/lib/python3.10/runpy.py",
        "/opt/conda/envs/train/lib/python3.12/concurrent/futures/thread.py",
        "/home/ann/.local/share/uv/python/cpython-3.13.1-linux-x86_64-gnu/lib/python3.13t/selectors.py",
        "/opt/pypy/lib/pypy3.10/socket.py",
        "/srv/app/python311.zip/queue.py",
        "C:\\Python311\\Lib\\threading.py",
        "/usr/lib/python3.8/asyncore.py",
        "<frozen runpy>",
        "<frozen importlib._bootstrap>",
    ],
)
def test_the_standard_library_is_known_by_shape_and_name(file: str) -> None:
    assert origin(file) == (Kind.STANDARD_LIBRARY, "")
    assert not is_own(file, NONE)


@pytest.mark.parametrize(
    ("file", "package"),
    [
        (TORCH, "torch"),
        ("/usr/lib/python3/dist-packages/numpy/core/multiarray.py", "numpy"),
        ("/usr/local/lib/python3.10/dist-packages/transformer_engine/pytorch/module.py", "transformer_engine"),
        ("/home/u/.local/lib/python3.9/site-packages/six.py", "six"),
        ("/env/lib/python3.8/site-packages/horovod-0.28-py3.8.egg/horovod/torch/mpi_ops.py", "horovod"),
        ("/home/ann/.pex/installed_wheels/ab12/tqdm-4.66-py3-none-any.whl/tqdm/std.py", "tqdm"),
        ("C:\\env\\Lib\\site-packages\\accelerate\\accelerator.py", "accelerate"),
        # torch that is built in place, and what it writes and runs
        ("/opt/pytorch/pytorch/torch/nn/parallel/distributed.py", "torch"),
        ("torch/distributed/distributed_c10d.py", "torch"),
        ("/tmp/torchinductor_root/ab/cabcd.py", "torch"),
        ("/home/ann/.triton/cache/ABC/kernel.py", "torch"),
        # the probe, wherever it was loaded from
        ("/env/lib/python3.11/site-packages/ddpdoctor/probe/calls.py", "ddpdoctor"),
        ("/home/u/ddpdoctor/probe/calls.py", "ddpdoctor"),
    ],
)
def test_libraries_are_known_by_the_table(file: str, package: str) -> None:
    assert origin(file) == (Kind.LIBRARY, package)
    # THEN a job cannot make a library its own
    assert not is_own(file, frozenset({package}))


@pytest.mark.parametrize(
    "file",
    [
        "/home/u/train.py",
        "train.py",
        # folders that only share a name with a library or with the standard library
        "/home/u/torch/train.py",
        "/workspace/torch/mnist/main.py",
        "/home/u/accelerate/src/accelerate/accelerator.py",
        "/home/u/lib/python3.11/project/train.py",
        "/home/u/numpy/train.py",
        "<string>",
    ],
)
def test_what_no_installer_wrote_is_the_projects(file: str) -> None:
    assert origin(file) == (Kind.PROJECT, "")
    assert is_own(file, NONE)


def test_an_unlisted_package_is_own_where_the_job_runs_it() -> None:
    assert origin(TRAINER) == (Kind.INSTALLED, "mytrainer")
    assert not is_own(TRAINER, NONE)
    assert is_own(TRAINER, frozenset({"mytrainer"}))


@pytest.mark.parametrize(
    ("stack", "own"),
    [
        # python -m mytrainer.train
        ([TORCH, ACCELERATE, TRAINER, RUNPY, RUNPY], {"mytrainer"}),
        ([TORCH, TRAINER, "/usr/lib/python3.10/runpy.py"], {"mytrainer"}),
        # its own library below it is one that it uses
        ([TORCH, FABRIC, TRAINER, RUNPY], {"mytrainer"}),
        # python train.py
        ([TORCH, FABRIC, "/job/train.py"], set()),
        # the script that pip makes of an entry point
        ([TORCH, TRAINER, "/env/bin/mytrain"], {"mytrainer"}),
        ([TORCH, TRAINER, "C:\\env\\Scripts\\mytrain.exe\\__main__.py"], {"mytrainer"}),
        # a process of torch.multiprocessing
        (
            [
                *[TORCH, TRAINER, "/env/lib/python3.11/site-packages/torch/multiprocessing/spawn.py"],
                *["/usr/lib/python3.11/multiprocessing/process.py", "<string>"],
            ],
            {"mytrainer"},
        ),
        # a debugger or a profiler in front
        ([TORCH, TRAINER, "/env/lib/python3.11/site-packages/debugpy/server/cli.py", RUNPY], {"mytrainer"}),
        ([TORCH, ACCELERATE], set()),
        ([], set()),
    ],
)
def test_what_a_job_runs_is_outermost(stack: list[str], own: set[str]) -> None:
    assert own_packages([stack]) == own


def test_several_ranks_may_run_several_packages() -> None:
    assert own_packages([[TRAINER], [FABRIC], ["/job/train.py"]]) == {"mytrainer", "fabric_comm"}


def test_this_interpreters_standard_library_is_known_whole() -> None:
    folder = Path(sysconfig.get_path("stdlib"))
    names = {name for name in sys.stdlib_module_names if any((folder / f).exists() for f in (name, f"{name}.py"))}
    assert names - libraries.STANDARD_LIBRARY <= {"_compression"}


def test_every_installed_dependency_of_torch_is_in_the_table() -> None:
    """A missing package is harmless until it is between a user's line and torch; the table is maintained anyway."""
    from importlib.metadata import packages_distributions, requires

    wanted = {line.partition(";")[0].strip().rstrip("0123456789.=<>!,~ ").lower() for line in requires("torch") or ()}
    missing = {
        package
        for package, owners in packages_distributions().items()
        if {owner.lower() for owner in owners} & wanted and package[0].isalpha() and package not in libraries.KNOWN
    }
    assert missing <= {"isympy"}


def test_the_probe_carries_the_same_table() -> None:
    package = Path(ddpdoctor.__file__).parent
    assert (package / "probe" / "libraries.py").read_bytes() == (package / "program" / "libraries.py").read_bytes()
