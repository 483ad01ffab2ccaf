import logging
import os
from contextlib import contextmanager
from copy import deepcopy

import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, distributed

RANK = int(os.getenv("RANK", -1))
LOCAL_RANK = int(os.getenv("LOCAL_RANK", -1))
WORLD_SIZE = int(os.getenv("WORLD_SIZE", 1))

logging.basicConfig(format="%(message)s", level=logging.INFO if RANK in {-1, 0} else logging.WARNING)
LOGGER = logging.getLogger("grid-yolo")


@contextmanager
def torch_distributed_zero_first(local_rank):
    """Let the local leader do the work (unpacking, caching) before the others."""
    if local_rank not in {-1, 0}:
        dist.barrier(device_ids=[local_rank])
    yield
    if local_rank == 0:
        dist.barrier(device_ids=[0])


class ModelEMA:
    def __init__(self, model, decay=0.999):
        self.ema = deepcopy(de_parallel(model)).eval()
        self.decay = decay
        for p in self.ema.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        msd = de_parallel(model).state_dict()
        for k, v in self.ema.state_dict().items():
            if v.dtype.is_floating_point:
                v.mul_(self.decay).add_(msd[k].detach(), alpha=1 - self.decay)


def de_parallel(model):
    return model.module if isinstance(model, torch.nn.parallel.DistributedDataParallel) else model


class EarlyStopping:
    def __init__(self, patience=30):
        self.best_fitness = 0.0
        self.best_epoch = 0
        self.patience = patience or float("inf")

    def __call__(self, epoch, fitness):
        if fitness >= self.best_fitness:
            self.best_epoch = epoch
            self.best_fitness = fitness
        stop = epoch - self.best_epoch >= self.patience
        if stop:
            LOGGER.info(f"Stopping training early, best results at epoch {self.best_epoch}.")
        return stop


class Parcels(Dataset):
    def __init__(self, npz, augment):
        cache = npz.replace(".npz", "_images.npy")
        if not os.path.exists(cache):
            np.save(cache, np.load(npz)["images"])
        self.images = np.load(cache, mmap_mode="r")
        self.boxes = np.load(npz)["boxes"].astype(np.float32)
        self.augment = augment

    def __len__(self):
        return len(self.boxes)

    def __getitem__(self, i):
        im = torch.from_numpy(np.array(self.images[i])).float() / 255
        box = torch.from_numpy(self.boxes[i].copy())
        if self.augment and torch.rand(()) < 0.5:
            im = im.flip(-1)
            box[:, 1] = torch.where(box[:, 0] >= 0, 1 - box[:, 1], box[:, 1])
        return im, box


def create_dataloader(path, batch_size, rank=-1, workers=8, augment=False, shuffle=False):
    with torch_distributed_zero_first(rank):
        dataset = Parcels(path, augment)
    sampler = None if rank == -1 else distributed.DistributedSampler(dataset, shuffle=shuffle)
    return DataLoader(dataset, batch_size, shuffle=shuffle and sampler is None, sampler=sampler,
                      num_workers=workers, pin_memory=True, drop_last=augment)
