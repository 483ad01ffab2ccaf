import json
import math
import os.path as osp
import time

import torch

from .dist import master_only
from .registry import HOOKS


class Hook:
    def before_run(self, runner):
        pass

    def before_train_epoch(self, runner):
        pass

    def before_train_iter(self, runner):
        pass

    def after_train_iter(self, runner):
        pass

    def after_train_epoch(self, runner):
        pass

    def after_val_epoch(self, runner):
        pass


@HOOKS.register
class SamplerSeedHook(Hook):
    def before_train_epoch(self, runner):
        runner.train_loader.sampler.set_epoch(runner.epoch)


@HOOKS.register
class CosineLrHook(Hook):
    def __init__(self, warmup_epochs=1, min_ratio=0.01):
        self.warmup_epochs = warmup_epochs
        self.min_ratio = min_ratio

    def before_run(self, runner):
        self.base = [g["lr"] for g in runner.optimizer.param_groups]

    def before_train_iter(self, runner):
        per_epoch = len(runner.train_loader)
        warm, total = self.warmup_epochs * per_epoch, runner.max_epochs * per_epoch
        if runner.iter < warm:
            scale = (runner.iter + 1) / warm
        else:
            t = (runner.iter - warm) / max(total - warm, 1)
            scale = self.min_ratio + (1 - self.min_ratio) * 0.5 * (1 + math.cos(math.pi * t))
        for group, lr in zip(runner.optimizer.param_groups, self.base):
            group["lr"] = lr * scale


@HOOKS.register
class TextLoggerHook(Hook):
    def __init__(self, interval=50, json_name="scalars.jsonl"):
        self.interval = interval
        self.json_name = json_name

    def before_run(self, runner):
        self.path = osp.join(runner.work_dir, self.json_name)
        self.tic = time.time()

    @master_only
    def after_train_iter(self, runner):
        if (runner.iter + 1) % self.interval:
            return
        speed = self.interval / (time.time() - self.tic)
        self.tic = time.time()
        lr = runner.optimizer.param_groups[0]["lr"]
        print(f"epoch {runner.epoch} iter {runner.iter + 1} "
              f"lr {lr:.2e} loss {runner.outputs['loss'].item():.4f} {speed:.1f} it/s", flush=True)

    @master_only
    def after_val_epoch(self, runner):
        record = {m.name: round(m.value, 5) for m in runner.metrics}
        record["epoch"] = runner.epoch
        print("val  " + "  ".join(f"{k} {v}" for k, v in record.items()), flush=True)
        with open(self.path, "a") as f:
            f.write(json.dumps(record) + "\n")


@HOOKS.register
class CheckpointHook(Hook):
    def __init__(self, interval=1, filename_tmpl="epoch_{}.pth"):
        self.interval = interval
        self.filename_tmpl = filename_tmpl

    @master_only
    def after_train_epoch(self, runner):
        if (runner.epoch + 1) % self.interval and runner.epoch + 1 != runner.max_epochs:
            return
        target = osp.join(runner.work_dir, self.filename_tmpl.format(runner.epoch + 1))
        torch.save({"state_dict": runner.model.module.state_dict(),
                    "optimizer": runner.optimizer.state_dict(),
                    "meta": {"epoch": runner.epoch + 1, "iter": runner.iter + 1}}, target)
