import logging
import os
import time

import torch

logger = logging.getLogger("mini_det")


class HookBase:
    trainer = None

    def before_step(self):
        pass

    def after_step(self):
        pass


class IterationTimer(HookBase):
    def before_step(self):
        self._start = time.perf_counter()

    def after_step(self):
        self.trainer.storage.put_scalars(time=time.perf_counter() - self._start)


class LRScheduler(HookBase):
    def __init__(self, optimizer, max_iter):
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda it: max(0.0, 1 - it / max_iter))

    def after_step(self):
        self.scheduler.step()


class PeriodicWriter(HookBase):
    def __init__(self, period):
        self.period = period

    def after_step(self):
        if (self.trainer.iter + 1) % self.period == 0:
            stats = self.trainer.storage.smoothed()
            line = "  ".join(f"{k}: {v:.4f}" for k, v in stats.items())
            logger.info("iter: %d  %s", self.trainer.iter, line)


class PeriodicCheckpointer(HookBase):
    def __init__(self, period, output_dir):
        self.period = period
        self.output_dir = output_dir
        os.makedirs(output_dir, exist_ok=True)

    def after_step(self):
        done = self.trainer.iter + 1
        if done % self.period == 0 or done == self.trainer.max_iter:
            state = {"model": self.trainer.raw_model.state_dict(), "iter": done}
            torch.save(state, os.path.join(self.output_dir, f"model_{done:07d}.pth"))
