import os

import torch
import torch.distributed as dist


class Hook:
    def before_epoch(self, runner):
        pass

    def after_iter(self, runner):
        pass

    def after_epoch(self, runner):
        pass


class DistSamplerSeedHook(Hook):
    """Data-loading sampler for distributed training."""

    def before_epoch(self, runner):
        sampler = runner.data_loader.sampler
        if hasattr(sampler, "set_epoch"):
            sampler.set_epoch(runner.epoch)


class StepLrHook(Hook):
    def __init__(self, step, gamma=0.1):
        self.step, self.gamma = step, gamma

    def before_epoch(self, runner):
        exp = sum(runner.epoch >= s for s in self.step)
        for group in runner.optimizer.param_groups:
            group["lr"] = group["initial_lr"] * self.gamma**exp


class TextLoggerHook(Hook):
    def __init__(self, interval=10):
        self.interval = interval

    def after_iter(self, runner):
        if (runner.inner_iter + 1) % self.interval:
            return
        loss = runner.outputs["loss"].detach().clone()
        dist.all_reduce(loss)
        if runner.rank == 0:
            lr = runner.optimizer.param_groups[0]["lr"]
            print(f"Epoch [{runner.epoch + 1}][{runner.inner_iter + 1}/{len(runner.data_loader)}] "
                  f"lr: {lr:.2e} loss: {loss.item() / runner.world_size:.4f}", flush=True)


class CheckpointHook(Hook):
    def __init__(self, interval=1):
        self.interval = interval

    def after_epoch(self, runner):
        if (runner.epoch + 1) % self.interval:
            return
        if runner.rank == 0:
            os.makedirs(runner.work_dir, exist_ok=True)
            path = os.path.join(runner.work_dir, f"epoch_{runner.epoch + 1}.pth")
            torch.save({"state_dict": runner.model.module.state_dict(),
                        "optimizer": runner.optimizer.state_dict(),
                        "epoch": runner.epoch + 1}, path)
        dist.barrier()


HOOKS = {c.__name__: c for c in (DistSamplerSeedHook, StepLrHook, TextLoggerHook, CheckpointHook)}


def build_hook(cfg):
    cfg = dict(cfg)
    return HOOKS[cfg.pop("type")](**cfg)
