import contextlib
from collections import Counter

import torch
from torch.nn.parallel import DistributedDataParallel

from fairlite import distributed_utils


class Trainer:
    def __init__(self, opt_cfg, model, criterion, rank, world_size, device_id):
        self.cfg = opt_cfg
        self.rank, self.world_size = rank, world_size
        self.device = torch.device("cuda", device_id)
        self.criterion = criterion
        self._model = model.to(self.device)
        self._wrapped_model = None
        self.num_updates = 0
        self.optimizer = torch.optim.Adam(self._model.parameters(), lr=0.0, betas=(0.9, 0.98))

    @property
    def model(self):
        if self._wrapped_model is None:
            if self.world_size > 1:
                self._wrapped_model = DistributedDataParallel(self._model, device_ids=[self.device.index])
            else:
                self._wrapped_model = self._model
        return self._wrapped_model

    def _prepare_sample(self, sample):
        if torch.is_tensor(sample):
            return sample.to(self.device, non_blocking=True)
        if isinstance(sample, dict):
            return {k: self._prepare_sample(v) for k, v in sample.items()}
        return sample

    def _set_lr(self):
        w = self.cfg["warmup_updates"]
        step = self.num_updates + 1
        lr = self.cfg["lr"] * min(step / w, (w / step) ** 0.5)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        return lr

    def train_step(self, samples):
        self.model.train()
        self.optimizer.zero_grad()
        stats = Counter()
        for i, sample in enumerate(samples):
            sample = self._prepare_sample(sample)
            last = i == len(samples) - 1
            delay = self.world_size > 1 and not last
            with self.model.no_sync() if delay else contextlib.nullcontext():
                loss, sample_size, log = self.criterion(self.model, sample)
                loss.backward()
            stats.update(log)
            stats["sample_size"] += sample_size

        stats = distributed_utils.all_reduce_dict(stats, self.device)
        # gradients are averaged over the workers, the loss is a sum over tokens
        scale = self.world_size / stats["sample_size"]
        for p in self._model.parameters():
            if p.grad is not None:
                p.grad.mul_(scale)
        norm = torch.nn.utils.clip_grad_norm_(self._model.parameters(), self.cfg["clip_norm"])
        stats["lr"] = self._set_lr()
        self.optimizer.step()
        self.num_updates += 1
        stats["gnorm"] = norm.item()
        return stats

    @torch.no_grad()
    def validate(self, samples):
        self._model.eval()
        stats = Counter(loss=0.0, nll=0.0, ntokens=0)
        for sample in samples:
            _, _, log = self.criterion(self._model, self._prepare_sample(sample))
            stats.update({k: log[k] for k in stats})
        stats = distributed_utils.all_reduce_dict(stats, self.device)
        return stats["nll"] / max(stats["ntokens"], 1)

    def save_checkpoint(self, path, epoch):
        if self.rank == 0:
            torch.save({"model": self._model.state_dict(),
                        "optimizer": self.optimizer.state_dict(),
                        "epoch": epoch, "num_updates": self.num_updates}, path)
