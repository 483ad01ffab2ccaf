"""Commands of scripts and texts: which program they start, and how."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.lint.deferred import launch_scripts

OLD = "python -m torch.distributed.launch --nproc_per_node 8 "


@pytest.mark.parametrize(
    ("script", "started"),
    [
        (f"{OLD}tools/train.py --lr 1", [(1, "tools/train.py")]),
        (f'set -e\n\n{OLD}\\\n  "$(dirname "$0")"/train.py \\\n  "$@"\n', [(3, "./train.py")]),
        (f"{OLD}\\\n  train.py\n{OLD}eval.py\n", [(1, "train.py"), (3, "eval.py")]),
        (f"{OLD}${{ROOT}}/train.py", [(1, "./train.py")]),
        (f"{OLD}--use_env train.py", []),
        (f"# {OLD}train.py", []),
        (f"cd detection && {OLD}train.py", []),
        (f"{OLD}-m tools.train | tee train.py", [(1, "tools.train")]),
        ("torchrun train.py", []),
        ("python " + "$(" * 200_000, []),
    ],
)  # fmt: skip
def test_what_the_old_launcher_starts(script: str, started: list[tuple[int, str]]) -> None:
    assert list(launch_scripts.started_by_old_launcher(script.encode())) == started


@pytest.mark.parametrize(
    ("text", "started"),
    [
        ("First:\n\n    $ CUDA_VISIBLE_DEVICES=0 python3.11 tools/demo.py --gpu 0\n", [(3, "tools/demo.py")]),
        ("Or `python demo.py`.", [(1, "demo.py")]),
        (f"{OLD}train.py\ntorchrun train.py\nmpirun -n 8 python train.py\naccelerate launch train.py", []),
        ("uv run python -m shop.demo --lr 1", [(1, "shop.demo")]),
        ("python -m pytest test_demo.py", [(1, "pytest")]),
        ("python -m torch.distributed.run demo.py", []),
        ("mpiexec -n 8 python demo.py\ncolossalai run demo.py", []),
        ("python3 -u -m tools.demo --gpu 0, or python -m torch.utils.collect_env.", [(1, "tools.demo")]),
        ("$ GPU=0 ./tools/demo.py --gpu 0\n./tools/demo.py/x\nsee ./demo.py", [(1, "./tools/demo.py")]),
        ("python train.py --rank 1 --world-size 2\nRANK=0 python train.py", []),
        ("python " + "$(" * 200_000, []),
    ],
)
def test_what_is_started_without_a_launcher(text: str, started: list[tuple[int, str]]) -> None:
    assert list(launch_scripts.started_alone(text.encode())) == started


@pytest.mark.parametrize(
    ("text", "started"),
    [
        ("torchrun train.py", [(1, "train.py")]),
        ("lightning run model \\\n  --devices=8 \\\n  pretrain/train.py", [(1, "pretrain/train.py")]),
        ("fabric run --devices=1 train.py\nfabric run --devices=0,1 train.py", [(2, "train.py")]),
        ("mpiexec -n 8 python train.py\njsrun -n 8 python train.py", [(1, "train.py"), (2, "train.py")]),
        ("colossalai run --nproc_per_node 4 train.py\npython colossalai_train.py", [(1, "train.py")]),
        ("python train.py --init-method tcp://10.0.0.1:23456 --rank 1 --world-size 2", [(1, "train.py")]),
        ("$ RANK=1 WORLD_SIZE=2 python3 \\\n  tools/train.py", [(1, "tools/train.py")]),
        ("SCRIPT=tools/train.py\n\ntorchrun $SCRIPT --lr 1", [(3, "tools/train.py")]),
        ('DIR=x\nexport MAIN="$DIR/train.py"\ntorchrun "${MAIN}"', [(3, "./train.py")]),
        ("SCRIPT=train.py\ntorchrun $SCRIPTS", []),
        ("torchrun --nproc_per_node=8 -m shop.train -- --lr 1", [(1, "shop.train")]),
        ("accelerate launch --module shop.train", [(1, "shop.train")]),
        ("RANK=1 WORLD_SIZE=2 python -m shop.train", [(1, "shop.train")]),
        ('BY=" -m torch.distributed.launch"\nCMD="python $BY train.py "', [(2, "train.py")]),
        ('BY="torchrun --nproc_per_node 8"\nRUN=train.py\n$BY $RUN', [(3, "train.py")]),
        ('BY="torchrun --nproc_per_node 1"\n$BY train.py', []),
        ("if x; then\n  RUN=${D}/a.py\nelse\n  RUN=${D}/b.py\nfi\ntorchrun ${RUN}", [(6, "./a.py"), (6, "./b.py")]),
        ("torchrun --nproc_per_node=1 train.py", []),
        ("torchrun --nproc_per_node=1 --nnodes=2 train.py", [(1, "train.py")]),
        (
            "torchrun --nproc_per_node=8 -m tools.train --lr 1\nsrun python -m tools.eval",
            [(1, "tools.train"), (2, "tools.eval")],
        ),
        ("RANK=0 python -m tools.train", [(1, "tools.train")]),
        ("N=4\ntorchrun --nproc_per_node=$N train.py", [(2, "train.py")]),
        # another number, or what is not known
        ("N=1\n[ -z $ALL ] || N=8\ntorchrun --nproc_per_node=$N train.py", [(3, "train.py")]),
        ("N=${GPUS:-1}\ntorchrun --nproc_per_node=$N train.py", [(2, "train.py")]),
        ("N=1\nfor N in 1 2; do\ntorchrun --nproc_per_node=$N train.py; done", [(3, "train.py")]),
        (
            "deepspeed --include localhost:0,1 train.py\ndeepspeed --include localhost:$GPU train.py",
            [(1, "train.py"), (2, "train.py")],
        ),
        ("python train.py --ranking loss", []),
        ("python train.py", []),
    ],
)
def test_what_is_started_as_several_ranks(text: str, started: list[tuple[int, str]]) -> None:
    assert list(launch_scripts.started_by_launcher(text.encode())) == started


@pytest.mark.parametrize(
    ("text", "started"),
    [
        ("torchrun --nproc_per_node=1 train.py\ntorchrun --nproc-per-node 1 --nnodes 2 train.py", [(1, "train.py")]),
        ("deepspeed --num_gpus 1 train.py\ndeepspeed --num_gpus 16 train.py", [(1, "train.py")]),
        ("accelerate launch --num_processes 1 --num_machines 1 train.py", [(1, "train.py")]),
        ("deepspeed --include localhost:0 --master_port 1 train.py", [(1, "train.py")]),
        ("deepspeed --include localhost:0@other:1 train.py", []),
        ("python train.py", []),
    ],
)
def test_what_a_launcher_starts_as_one_process(text: str, started: list[tuple[int, str]]) -> None:
    assert list(launch_scripts.started_as_one(text.encode())) == started
    assert list(launch_scripts.started_as_one_by_setting(text.encode())) == []


@pytest.mark.parametrize(
    "text",
    [
        'export GPUS="1"  # change it for more\nNODES=1\ntorchrun --nnodes=$NODES --nproc_per_node ${GPUS} train.py',
        "# one\nGPUS=1 && echo $GPUS\ntorchrun --nproc_per_node=$GPUS train.py",
        "\n\nGPUS=1 torchrun --nproc_per_node=$GPUS train.py",
    ],
)
def test_what_a_variable_tells_a_launcher_to_start_as_one_process(text: str) -> None:
    assert list(launch_scripts.started_as_one(text.encode())) == [(3, "train.py")]
    assert list(launch_scripts.started_as_one_by_setting(text.encode())) == [(3, "train.py")]
    assert launch_scripts.on_nodes(text.encode()) is None


@pytest.mark.parametrize(
    ("script", "several"),
    [
        ("srun python train.py", True),
        ("srun -n 4 python train.py", True),
        ("srun -p gpu --ntasks=${GPUS} python train.py", True),
        ("srun -p gpu -n1 --gres=gpu:1 --ntasks-per-node=1 python -u train.py", False),
        # of Slurm's own accord it starts one
        ("#SBATCH --gres=gpu:4\nsrun --mem=3G -u python train.py", False),
        ("#SBATCH --nodes 1\n#SBATCH --ntasks-per-node 1\nsrun python train.py", False),
        ("#SBATCH -N1 -n 4\nsrun python train.py", True),
        ("#SBATCH --ntasks=4\nsrun python train.py", True),
        ("#SBATCH --nodes=${NODES}\nsrun python train.py", True),
        ("#SBATCH --gpus=4\n#SBATCH --gpus-per-task=1\nsrun python train.py", True),
        ("#SBATCH -J one\nsrun -p gpu --gres gpu:4 --ntasks-per-node=4 python train.py", True),
        ("#SBATCH -J one\nsrun torchrun --nproc_per_node=4 train.py", True),
    ],
)
def test_slurm_starts_one_process_unless_it_is_asked_for_more(script: str, several: bool) -> None:
    text = script.encode()
    launched = [program for _, program in launch_scripts.started_by_launcher(text)]
    alone = [program for _, program in launch_scripts.started_alone(text)]
    assert (launched, alone) == ((["train.py"], []) if several else ([], ["train.py"]))


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        ("python train.py", False),
        ("deepspeed --include localhost:0,1 train.py", False),
        ("torchrun --nproc_per_node 1 train.py", False),
        ("torchrun --nproc_per_node 8 train.py --deepspeed zero.json", True),
        ("python -m torch.distributed.launch --nproc_per_node 1 train.py", True),
        ("srun python train.py", True),
    ],
)
def test_who_starts_a_program_that_needs_its_local_rank(command: str, needed: bool) -> None:
    assert launch_scripts.needs_no_local_rank(command.encode()) != needed


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("torch==1.13.1", True),
        ("pytorch=1.7", True),
        ("PyTorch 1.8.0 and CUDA 11", True),
        ('[PyTorch](https://pytorch.org/ "PyTorch") version = 1.7.1', True),
        ("PyTorch version: 1.7.1", True),
        ("PyTorch version 1.7 or higher", False),
        ("PyTorch version >= 1.7", False),
        ("[PyTorch](https://pytorch.org) 2.1", False),
        ("torch<2", True),
        ("torch>=1.9.0,<1.12.0", True),
        ("torch>=1.7,<=1.13", True),
        ('install_requires=["torch>=1.8, !=1.9, <2"]', True),
        ('torch = ">=1.9,<2.0"', True),
        ("pytorch <1.13,>=1.7", True),
        ("torch<2.0.1", False),
        ("torch<2.1", False),
        ("torch<=2", False),
        ("torch>=1.9,<2.5", False),
        ("torch>=1.9,<3", False),
        ("torch>=1.9,!=1.10", False),
        ("torch>=1.9,numpy<1.24", False),
        ("torch>=1.9\nnumpy<1.24", False),
        ("torch>=1.7", False),
        ("PyTorch 1.6+", False),
        ("PyTorch 1.6 or later", False),
        ("torch==2.1", False),
        ("FROM pytorch/pytorch:1.7.1-cuda11.0-cudnn8-devel", True),
        ("FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel", False),
        ("FROM nvcr.io/nvidia/pytorch:19.05-py3", True),
        ("FROM nvcr.io/nvidia/pytorch:24.05-py3", False),
        ("torchvision==0.8", False),
        # what torch 2 cannot be installed beside
        ("conda create -n job python=3.7", True),
        ("Python 3.7, CUDA 10.2", True),
        ("conda create -n job python=3.7 -y", True),
        ("Python 3.7+", False),
        ("Python 3.7-3.10", False),
        ("Python >= 3.6", False),
        ("python 3.7 or 3.10", False),
        ("pip install mmcv-full==1.3.17", True),
        ("- python: 3.7", True),
        ("docker run team/image:pytorch1.9.0-nccl2.9", True),
        ("conda install pytorch torchvision cudatoolkit=11.3 -c pytorch", True),
        ("conda install pytorch=2.0 cudatoolkit=11.3", False),
        ("conda install cudatoolkit=11.8", False),
        ("torchrun --nproc_per_node 8 train.py", False),
        ("pytorch1.9+", False),
        ("mmcv-full 1.5.0", True),
        ("mmcv>=2.0.0", False),
        ("Python 3.7, torch==2.0.1", False),
    ],
)
def test_a_text_may_ask_for_an_older_torch(text: str, old: bool) -> None:
    assert launch_scripts.is_for_torch_1(text.encode()) == old


@pytest.mark.parametrize(
    ("text", "newest"),
    [
        ("torch==2.1.2", [(2, 1)]),
        ("torch>=2.1,<2.6", [(2, 5)]),
        ("torch>=2.1,<2.6.0", [(2, 5)]),
        ("torch<2.6.1", [(2, 6)]),
        ("torch>=1.9,<=2.6", [(2, 6)]),
        ("torch>=1.9,<2", [(1, 13)]),
        ("torch<3", [(3, 0)]),
        ("torch>=2.1,!=2.2", []),
    ],
)
def test_the_newest_torch_that_a_text_asks_for(text: str, newest: list[tuple[int, int]]) -> None:
    assert [version for version, _ in launch_scripts.pinned_torches(text.encode())] == newest


@pytest.mark.parametrize(
    ("command", "folders"),
    [
        ("torchrun --nproc_per_node=4 tools/$1.py --lr 1", ["tools/"]),
        ('RUN="accelerate launch --main_process_port=8888 training/${PROGRAM}"', ["training/"]),
        ("torchrun ./a/b/$PROGRAM", ["a/b/"]),
        # what is given to an option, a program that has a name, and one without a folder
        ("accelerate launch --config_file configs/$KIND train.py", []),
        ("torchrun tools/train.py --config configs/$1", []),
        ("torchrun $PROGRAM", []),
        ("python tools/$1.py", []),
    ],
)
def test_the_folder_of_a_program_whose_name_a_variable_has(command: str, folders: list[str]) -> None:
    assert list(launch_scripts.folders_started(command.encode())) == folders


PARTS = ["\n", "\\\n", "\\", "$X", " ", "python", "a.py", "x" * 9, "torchrun", "#"]
TEXTS = st.lists(st.sampled_from(PARTS)).map("".join)


@given(TEXTS)
def test_the_lines_that_may_start_something_are_those_of_all_lines(text: str) -> None:
    raw = text.encode()
    wanted = [line for line in launch_scripts.numbered_lines(raw) if launch_scripts.TO_READ.search(line[1])]
    assert list(launch_scripts.lines_to_read(raw)) == wanted
