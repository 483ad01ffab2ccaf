"""What packages do for a program that imports them: one row each.

Read from accelerate 1.15, colossalai 0.5, composer 0.32, deepspeed 0.16, fairscale 0.4, fairseq 0.12, lightning 2.6,
megatron-core 0.16, mmengine 0.10.7, pytorch-ignite 0.5.5, torchtitan 0.3, torchtune 0.6, transformers 5.23 and trl
1.16; the others from their documentation. With Horovod, Ray Train and ColossalAI the program itself sets the samplers'
epoch (https://docs.ray.io/en/latest/train/api/doc/ray.train.torch.prepare_data_loader.html).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Flag, auto


class Does(Flag):
    """What a package does for the program."""

    #: the tables of this folder contain functions or classes of it
    KNOWN = auto()
    #: seeds the generators, or gives each rank its own
    SEEDS = auto()
    #: gives each rank's generators another seed, unasked; of those that were not read, may do so
    SEEDS_APART = auto()
    #: chooses the device of a process, or starts each with one visible device
    DEVICES = auto()
    #: sets the samplers' epoch, or uses samplers of its own
    EPOCHS = auto()
    #: calls functions whose names come from a configuration
    CALLS_BY_NAME = auto()
    #: starts the processes of the job itself: the script runs once
    STARTS = auto()
    #: destroys a process group that the program has made; Lightning destroys only one of its own, and Accelerate,
    #: DeepSpeed, mmengine and transformers' Trainer none
    ENDS = auto()


_K, _S, _D, _E, _N = Does.KNOWN, Does.SEEDS, Does.DEVICES, Does.EPOCHS, Does.ENDS
_SA = Does.SEEDS | Does.SEEDS_APART
PACKAGES: dict[str, Does] = {
    "accelerate": _K | _S | _D | _E,
    "apex": _K,
    "catalyst": _SA | _D | _E | _N,
    "colossalai": _D | _N,
    "composer": _SA | _D | _E | _N,
    "deepspeed": _K | _D,
    "detectron2": _K | _SA | _D | _E | _N,
    "fairscale": _D | _N,
    "fairseq": _D | _N,
    "fastai": _E,
    "horovod": _K | _D,
    "hydra": Does.CALLS_BY_NAME,
    "ignite": _K | _SA | _D | _E | _N,
    "lightning": _K | _S | _D | _E,
    "lightning_fabric": _K | _S | _D | _E,
    "megatron": _D | _N,
    "mmcv": _K | _D | _E,
    "mmengine": _K | _SA | _D | _E,
    "pytorch_lightning": _K | _S | _D | _E,
    "ray": _D | Does.STARTS | _N,
    "submitit": Does.STARTS,
    "sglang": _D | _N,
    "torch_xla": _K | _D | _N,
    "torchtitan": _D | _N,
    "torchtnt": _D | _N,
    "torchtune": _D | _N,
    "transformers": _K | _S | _D | _E,
    "trl": _K | _SA | _D | _E,
    "vllm": _D | _N,
}

#: packages that are mostly imported for models and tokenizers, which do none of this: parts of the names of what does
DONE_BY: dict[str, tuple[str, ...]] = {
    "transformers": (
        "Trainer", "TrainingArguments", "ArgumentParser", "trainer", "training_args", "hf_argparser", "set_seed",
        "enable_full_determinism", "deepspeed",
    ),
}  # fmt: skip

#: take the place of GPUs: a program that imports them under a condition has none of this where it runs on GPUs
OTHER_DEVICES = frozenset({"torch_xla"})

#: names of modules and packages that projects give their own, and no library has that training code uses
LOCAL_NAMES = frozenset({
    "args", "common", "config", "configs", "criterion", "data", "dataloader", "dataloaders", "dataset", "engine",
    "helpers", "layers", "loss", "losses", "misc", "model", "models", "modules", "network", "networks", "option",
    "options", "solver", "trainer", "trainers", "util", "utils",
})  # fmt: skip

#: ends of the names of modules that somebody has set aside, beside the one that is in use: `vits_bak`, `train_old`
SET_ASIDE = frozenset({"bak", "backup", "copy", "new", "old", "orig", "ori", "tmp"})

#: libraries that repositories hold copies of, with their tests, examples and tools: the name under which each is built
#: -> the folder of its package. Those of the table above are built under the names of their packages
LIBRARIES: dict[str, str] = {
    **{name: name for name in PACKAGES},
    **{name: name for name in ("diffusers", "lerobot", "mmdet", "mmdet3d", "mmpose", "monai", "peft", "timm", "verl")},
    "mmaction2": "mmaction",
    "mmcls": "mmcls",
    "mmpretrain": "mmpretrain",
    "mmsegmentation": "mmseg",
    "nemo_toolkit": "nemo",
    "open_clip_torch": "open_clip",
    "sentence_transformers": "sentence_transformers",
    "speechbrain": "speechbrain",
    "torch_geometric": "torch_geometric",
}

#: libraries whose functions start no ranks, whatever their files name: what a program imports of a copy of one does not
#: make several processes of it (read as the packages above; their command lines are programs of their own)
START_NO_RANKS = frozenset({"diffusers", "open_clip", "peft", "sentence_transformers", "timm", "transformers"})

#: modules of packages that run on Python 3.6 alone: of fastai 0.7, which was written anew for its first version
FOR_PYTHON_3_6 = ("fastai.conv_learner", "fastai.dataset", "fastai.learner", "fastai.sgdr", "fastai.fp16")

#: modules that went before, or with, torch 2: of mmcv 2.0, which came with it, and of torch itself
FOR_TORCH_1 = ("mmcv.runner", "mmcv.parallel", "torch._six")

#: packages that are known only through the tables of this folder
NEVER_LOCAL = frozenset({
    "torch", "numpy", "math", "os", "sys", "time", "random", "argparse", "tqdm", "datetime", "uuid", "tempfile",
    "collections", "itertools", "functools",
})  # fmt: skip
#: packages whose functions are known: they neither choose a GPU nor end a process group unless a table says so
READ = NEVER_LOCAL | OTHER_DEVICES | {"builtins", "logging"}


def that(does: Does) -> tuple[str, ...]:
    """The packages that do one of these."""
    return tuple(name for name, row in PACKAGES.items() if row & does)


def imported(paths: Iterable[str], does: Does) -> bool:
    """Whether one of the imported objects belongs to a package that does one of these."""
    return any(_row(path) & does for path in paths)


def _row(path: str) -> Does:
    package, _, rest = path.partition(".")
    row = PACKAGES.get(package, Does(0))
    words = DONE_BY.get(package)
    # of a package that is imported as a whole, anything may be used
    return row & _K if words and rest and not any(word in rest for word in words) else row
