"""The script is identified from the command line, for every common launcher."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddpdoctor.launch.entry_script import find_script


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("train.py", "pkg/__init__.py", "pkg/train.py", "tool/__main__.py", "lib/inner/run.py", "src/app.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("python train.py --epochs 3", "train.py"),
        ("/usr/bin/python3.11 -u -X dev -W error train.py", "train.py"),
        ("python -m pkg.train --lr 1", "pkg/train.py"),
        ("python -um pkg.train", "pkg/train.py"),
        ("python -m tool", "tool/__main__.py"),
        ("python tool", "tool/__main__.py"),
        ("python -m app", "src/app.py"),
        ("python -m inner.run", "lib/inner/run.py"),
        ("torchrun --standalone --nproc-per-node 4 train.py --data other.py", "train.py"),
        ("torchrun --nproc_per_node=4 -m pkg.train", "pkg/train.py"),
        ("torchrun -m --nproc-per-node 4 pkg.train", "pkg/train.py"),
        ("python -m torch.distributed.run --nproc-per-node 4 train.py", "train.py"),
        ("python -m torch.distributed.launch --use_env train.py", "train.py"),
        ("accelerate launch --num_processes 2 train.py", "train.py"),
        ("accelerate launch -m pkg.train", "pkg/train.py"),
        ("python -m accelerate.commands.launch --cpu train.py", "train.py"),
        ("deepspeed --num_gpus 2 train.py --deepspeed", "train.py"),
        ("env A=1 nice -n 5 torchrun --nproc-per-node 2 train.py", "train.py"),
        ("srun --ntasks 2 python train.py", "train.py"),
        ("python -c print(1)", None),
        ("python -", None),
        ("python", None),
        ("python -m", None),
        ("python gone.py", None),
        ("python -m gone.module", None),
        ("python -m ..", None),
        ("torchrun --nproc-per-node 2", None),
        ("bash run.sh", None),
        ("./train.sh train.py", None),
    ],
)
def test_the_script_of_a_command_line(folder: Path, command: str, script: str | None) -> None:
    found = find_script(tuple(command.split()), folder, {"PYTHONPATH": ":lib"})
    assert found == (folder / script if script else None)
