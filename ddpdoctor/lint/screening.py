"""Screening: which files can matter at all, judged by words in their bytes before anything is parsed."""

from __future__ import annotations

import re

#: A file without any of these uses no distributed training, and no rule can report anything about it. `distributed`
#: alone occurs in every Apache licence; `accelerate`, `lightning` and `ignite` occur in prose: they count only in
#: imports. Plain words, because searching for twenty of them takes a tenth of the time of one pattern with twenty
#: alternatives; grouped by a common part, which most files lack.
_MATTERING: dict[bytes, tuple[bytes, ...]] = {
    b"istributed": (
        b"torch.distributed", b"import distributed", b"distributed import", b"DistributedSampler",
        b"DistributedDataParallel",
    ),
    b"hard": (b"FullyShardedDataParallel", b"fully_shard"),
    b"RANK": (b'RANK"', b"RANK'"),
    b"rank": (b"rank_zero", b"get_rank", b"local_rank", b"local-rank"),
    b"process": (b"process_group", b"main_process", b"process_zero"),
    # decorators that leave a function to one rank
    b"_only": (b"master_only", b"main_only", b"rank0_only"),
    b"ccelerate": (b"from accelerate", b"import accelerate"),
    b"lightning": (b"pytorch_lightning", b"import lightning", b"from lightning"),
    b"ignite": (b"from ignite", b"import ignite"),
    # of a network that asks a helper of its project, in whose file alone torch is named
    b"reduce_mean": (b"reduce_mean(",),
    b"world_size": (b"get_world_size(",),
    **{word: (word,) for word in (
        b"all_reduce", b"all_gather", b"barrier(", b"horovod", b"deepspeed", b"mmengine", b"torch_xla",
        # of a trainer of transformers, which says nothing of the processes that it runs in
        b"get_train_dataloader",
    )},
}  # fmt: skip
#: a script that starts a run and has a trainer train: several processes of it may be started, although it says nothing
#: of them
_RUN_OF_TRAINER = (b"wandb.init(", b"Trainer(")
#: in scripts, which may start everything that matters in other files
STARTS = b"__main__"
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([\w ,\t]*)|import[ \t]+([\w., \t]+))", re.MULTILINE
)


def matters(raw: bytes) -> bool:
    """Whether the bytes mention distributed training at all."""
    named = any(stem in raw and any(word in raw for word in words) for stem, words in _MATTERING.items())
    return named or all(word in raw for word in _RUN_OF_TRAINER)


def imported(raw: bytes) -> tuple[str, ...]:
    """Relative paths, without suffix, of the modules that a file may import."""
    names: dict[str, None] = {}
    for package, members, plain in _IMPORT.findall(raw):
        for name in plain.split(b","):
            names[name.strip().partition(b" ")[0].decode().replace(".", "/")] = None
        base = package.decode().strip(".").replace(".", "/")
        names[base] = None
        for member in members.split(b","):
            name = member.strip().partition(b" ")[0].decode()
            names[f"{base}/{name}" if base else name] = None
    names.pop("", None)
    return tuple(names)
