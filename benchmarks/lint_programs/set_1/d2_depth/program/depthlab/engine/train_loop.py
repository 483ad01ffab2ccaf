import logging
import time

import torch


class HookBase:
    def before_train(self):
        pass

    def after_train(self):
        pass

    def after_step(self):
        pass


class Trainer:
    """Runs `run_step` for a fixed number of iterations, with hooks around it."""

    def __init__(self, cfg, model, data_loader, optimizer):
        self.cfg = cfg
        self.model = model
        self.optimizer = optimizer
        self.iter = 0
        self.max_iter = cfg.SOLVER.MAX_ITER
        self.skip_nonfinite = cfg.SOLVER.SKIP_NONFINITE
        self.num_skipped = 0
        self.stop_requested = False
        self.latest = {}
        self._hooks = []
        self._data_iter = iter(data_loader)

    def register_hooks(self, hooks):
        for h in hooks:
            h.trainer = self
            self._hooks.append(h)

    def _call(self, name):
        for h in self._hooks:
            getattr(h, name)()

    def train(self):
        logging.getLogger(__name__).info("Starting training, %d iterations", self.max_iter)
        self._call("before_train")
        while self.iter < self.max_iter and not self.stop_requested:
            self.run_step()
            self._call("after_step")
            self.iter += 1
        self._call("after_train")

    def run_step(self):
        assert self.model.training
        start = time.perf_counter()
        data = next(self._data_iter)
        data_time = time.perf_counter() - start

        loss_dict = self.model(data["image"].cuda(), data["depth"].cuda())
        losses = sum(loss_dict.values())
        self.latest = {k: v.detach() for k, v in loss_dict.items()}
        self.latest["data_time"] = data_time

        if self.skip_nonfinite and not torch.isfinite(losses):
            self.num_skipped += 1
            return

        self.optimizer.zero_grad()
        losses.backward()
        self.optimizer.step()
