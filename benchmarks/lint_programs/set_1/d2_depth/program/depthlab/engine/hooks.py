import logging
import os
import time

import torch

from depthlab import comm
from depthlab.engine.train_loop import HookBase


class WarmupPoly(HookBase):
    def __init__(self, base_lr, warmup, power=0.9):
        self.base_lr, self.warmup, self.power = base_lr, warmup, power

    def _set(self, it):
        frac = min(1.0, (it + 1) / self.warmup) * (1 - it / self.trainer.max_iter) ** self.power
        for group in self.trainer.optimizer.param_groups:
            group["lr"] = self.base_lr * frac

    def before_train(self):
        self._set(self.trainer.iter)

    def after_step(self):
        self._set(self.trainer.iter + 1)


class PeriodicWriter(HookBase):
    def __init__(self, period=20):
        self.period = period
        self.log = logging.getLogger(__name__)

    def after_step(self):
        tr = self.trainer
        if (tr.iter + 1) % self.period == 0 and comm.is_main_process():
            text = "  ".join(f"{k}: {float(v):.4g}" for k, v in tr.latest.items())
            self.log.info("iter: %d  %s  skipped: %d", tr.iter + 1, text, tr.num_skipped)


class PeriodicCheckpointer(HookBase):
    def __init__(self, period, folder):
        self.period, self.folder = period, folder

    def _save(self, name):
        if comm.is_main_process():
            torch.save({"model": self.trainer.model.module.state_dict(),
                        "optimizer": self.trainer.optimizer.state_dict(),
                        "iteration": self.trainer.iter}, os.path.join(self.folder, name))

    def after_step(self):
        if (self.trainer.iter + 1) % self.period == 0:
            self._save(f"model_{self.trainer.iter:07d}.pth")

    def after_train(self):
        self._save("model_final.pth")


class WalltimeHook(HookBase):
    """Leave the loop in time for the final checkpoint when the queue limit is near."""

    def __init__(self, max_hours, period=50):
        self.deadline = time.time() + 3600 * max_hours
        self.period = period

    def after_step(self):
        if (self.trainer.iter + 1) % self.period == 0:
            self.trainer.stop_requested = comm.any_worker(time.time() > self.deadline)


class EvalHook(HookBase):
    def __init__(self, period, loader):
        self.period, self.loader = period, loader

    @torch.no_grad()
    def _evaluate(self):
        net = self.trainer.model.module
        net.eval()
        abs_rel = n = 0.0
        for data in self.loader:
            depth = data["depth"].cuda()
            pred = net.predict(data["image"].cuda())
            valid = depth > 0
            abs_rel += ((pred - depth).abs()[valid] / depth[valid]).sum().item()
            n += valid.sum().item()
        self.trainer.model.train()
        abs_rel, n = comm.all_sum([abs_rel, n])
        if comm.is_main_process():
            logging.getLogger(__name__).info("iter %d AbsRel %.4f", self.trainer.iter + 1, abs_rel / max(n, 1))

    def after_step(self):
        if (self.trainer.iter + 1) % self.period == 0:
            self._evaluate()
