import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from .logger import CSVLogger


class PocketModule(nn.Module):
    hparams: dict = {}

    def training_step(self, batch): ...
    def validation_step(self, batch): ...
    def configure_optimizers(self): ...

    def forward(self, batch):
        # what the wrapper calls
        return self.training_step(batch)


class PocketTrainer:
    def __init__(self, max_epochs=3, save_dir="logs", name="default", callbacks=()):
        self.max_epochs = max_epochs
        self.callbacks = list(callbacks)
        self.rank = int(os.environ.get("RANK", 0))
        self.world_size = int(os.environ.get("WORLD_SIZE", 1))
        cuda = torch.cuda.is_available()
        self.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if cuda else torch.device("cpu")
        if self.world_size > 1 and not dist.is_initialized():
            if cuda:
                torch.cuda.set_device(self.device)
            dist.init_process_group("nccl" if cuda else "gloo")
        self.logger = CSVLogger(save_dir, name, rank=self.rank)
        self.current_epoch = 0

    @property
    def is_global_zero(self):
        return self.rank == 0

    def barrier(self):
        if self.world_size > 1:
            dist.barrier()

    def print(self, *args):
        if self.is_global_zero:
            print(*args, flush=True)

    def call(self, name, *args):
        for cb in self.callbacks:
            if hasattr(cb, name):
                getattr(cb, name)(self, *args)

    def save_checkpoint(self, path):
        if self.is_global_zero:
            torch.save({"epoch": self.current_epoch, "state_dict": self.module.state_dict(),
                        "hparams": self.module.hparams}, path)
        self.barrier()

    def _train_loader(self, dataset, batch_size):
        sampler = DistributedSampler(dataset, self.world_size, self.rank, shuffle=True)
        return DataLoader(dataset, batch_size, sampler=sampler, drop_last=True)

    def _eval_loader(self, dataset, batch_size):
        mine = torch.utils.data.Subset(dataset, range(self.rank, len(dataset), self.world_size))
        return DataLoader(mine, batch_size)

    def _to_device(self, batch):
        return tuple(t.to(self.device) for t in batch)

    @torch.no_grad()
    def _evaluate(self, dataset, batch_size, prefix):
        self.module.eval()
        sums, count = {}, 0
        for batch in self._eval_loader(dataset, batch_size):
            batch = self._to_device(batch)
            n = batch[0].size(0)
            count += n
            for k, v in self.module.validation_step(batch).items():
                sums[k] = sums.get(k, 0.0) + v.item() * n
        self.module.train()
        keys = sorted(sums)
        t = torch.tensor([sums[k] for k in keys] + [count], dtype=torch.float64, device=self.device)
        if self.world_size > 1:
            dist.all_reduce(t)
        return {f"{prefix}_{k}": (t[i] / t[-1]).item() for i, k in enumerate(keys)}

    def fit(self, module, train_set, val_set, batch_size):
        self.module = module.to(self.device)
        self.logger.log_hyperparams(module.hparams)
        net = self.module
        if self.world_size > 1:
            ids = [self.device.index] if self.device.type == "cuda" else None
            net = DistributedDataParallel(self.module, device_ids=ids)
        self.call("setup")
        optimizer = self.module.configure_optimizers()
        loader = self._train_loader(train_set, batch_size)
        for self.current_epoch in range(self.max_epochs):
            loader.sampler.set_epoch(self.current_epoch)
            for batch in loader:
                loss = net(self._to_device(batch))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            metrics = self._evaluate(val_set, batch_size, "val")
            self.logger.log_metrics({"epoch": self.current_epoch, **metrics})
            self.print(f"epoch {self.current_epoch}", {k: round(v, 4) for k, v in metrics.items()})
            self.call("on_validation_end", metrics)

    def test(self, test_set, batch_size, ckpt_path):
        ckpt = torch.load(ckpt_path, map_location=self.device)
        self.module.load_state_dict(ckpt["state_dict"])
        metrics = self._evaluate(test_set, batch_size, "test")
        self.print(f"test (epoch {ckpt['epoch']})", {k: round(v, 4) for k, v in metrics.items()})
        return metrics

    def teardown(self):
        if dist.is_initialized():
            self.barrier()
            dist.destroy_process_group()
