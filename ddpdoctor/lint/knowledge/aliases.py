"""Canonical names: one name for each external object, however a file imports it."""

from __future__ import annotations

from functools import lru_cache

FSDP = "torch.distributed.fsdp.FullyShardedDataParallel"
#: what has a backward of its own extends it
OPERATION = "torch.autograd.Function"
ENGINE = "deepspeed.DeepSpeedEngine"
SAMPLER = "torch.utils.data.DistributedSampler"
LOADER = "torch.utils.data.DataLoader"
BATCH_SAMPLER = "torch.utils.data.BatchSampler"
#: a dict of networks, which are parts of one
PARTS_BY_NAME = "torch.nn.ModuleDict"
#: other names of the same object
SPELLINGS = {
    "torch.nn.parallel.distributed.DistributedDataParallel": "torch.nn.parallel.DistributedDataParallel",
    "torch.utils.data.distributed.DistributedSampler": SAMPLER,
    "torch.utils.data.dataloader.DataLoader": LOADER,
    "torch.utils.data.sampler.RandomSampler": "torch.utils.data.RandomSampler",
    "torch.utils.data.sampler.SequentialSampler": "torch.utils.data.SequentialSampler",
    "torch.utils.data.sampler.WeightedRandomSampler": "torch.utils.data.WeightedRandomSampler",
    "torch.utils.data.sampler.SubsetRandomSampler": "torch.utils.data.SubsetRandomSampler",
    "torch.utils.data.sampler.BatchSampler": BATCH_SAMPLER,
    "torch.utils.data.dataset.IterableDataset": "torch.utils.data.IterableDataset",
    "torch.utils.data.dataset.random_split": "torch.utils.data.random_split",
    "torch.utils.data.dataset.Subset": "torch.utils.data.Subset",
    "accelerate.accelerator.Accelerator": "accelerate.Accelerator",
    "accelerate.state.PartialState": "accelerate.PartialState",
    "lightning.Fabric": "lightning.fabric.Fabric",
    "lightning.Trainer": "lightning.pytorch.Trainer",
    "lightning_fabric.Fabric": "lightning.fabric.Fabric",
    "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel": FSDP,
    **dict.fromkeys(("io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open"), "builtins.open"),
}
_MODULE_SPELLINGS = (
    ("torch.distributed.distributed_c10d.", "torch.distributed."),
    ("torch.distributed._tensor.device_mesh.", "torch.distributed.device_mesh."),
    ("torch.nn.utils.clip_grad.", "torch.nn.utils."),
    ("deepspeed.comm.", "torch.distributed."),
    ("torch.distributed.nn.functional.", "torch.distributed.nn."),
    ("horovod.torch.mpi_ops.", "horovod.torch."),
    ("pytorch_lightning.", "lightning.pytorch."),
    ("lightning.pytorch.trainer.trainer.", "lightning.pytorch."),
    ("lightning.pytorch.trainer.", "lightning.pytorch."),
    ("lightning.pytorch.core.lightning.", "lightning.pytorch."),
    ("lightning.pytorch.core.module.", "lightning.pytorch."),
    ("ignite.distributed.utils.", "ignite.distributed."),
    ("ignite.distributed.auto.", "ignite.distributed."),
    ("ignite.distributed.launcher.", "ignite.distributed."),
    ("mmengine.dist.utils.", "mmengine.dist."),
)
_ACCELERATE_MODULES = ("accelerate.utils.operations.", "accelerate.utils.other.", "accelerate.utils.random.")


@lru_cache(maxsize=1 << 14)
def canonical(path: str) -> str:
    """The canonical name of an external object, as used in these tables."""
    found = SPELLINGS.get(path)
    if found is not None:
        return found
    for old, new in _MODULE_SPELLINGS:
        if path.startswith(old):
            path = new + path[len(old) :]
    for old in _ACCELERATE_MODULES:
        if path.startswith(old):
            path = "accelerate.utils." + path[len(old) :]
    if path.startswith("mmengine.dist.dist."):
        path = "mmengine.dist." + path[len("mmengine.dist.dist.") :]
    return SPELLINGS.get(path, path)
