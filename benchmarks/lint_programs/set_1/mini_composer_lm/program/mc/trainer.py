import enum
import math
import time
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from mc import dist


class Event(enum.Enum):
    FIT_START = "fit_start"
    BATCH_END = "batch_end"
    EVAL_END = "eval_end"
    FIT_END = "fit_end"


@dataclass
class State:
    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    device: torch.device
    batch: int = 0
    tokens: int = 0
    loss: float = math.nan
    metrics: dict = field(default_factory=dict)


class Callback:
    def run(self, event: Event, state: State) -> None:
        hook = getattr(self, event.value, None)
        if hook is not None:
            hook(state)


class SpeedMonitor(Callback):
    def __init__(self, every=20):
        self.every = every

    def fit_start(self, state):
        self.t0, self.seen = time.time(), 0

    def batch_end(self, state):
        if dist.get_rank() == 0 and state.batch % self.every == 0:
            rate = (state.tokens - self.seen) / (time.time() - self.t0)
            print(f"batch {state.batch} | {state.tokens / 1e6:.0f}M tok | loss {state.loss:.3f} | {rate:,.0f} tok/s")
            self.t0, self.seen = time.time(), state.tokens


class Trainer:
    def __init__(self, model, optimizer, train_loader, eval_loader, *, budget, device,
                 eval_every=1000, callbacks=()):
        self.raw = model
        self.state = State(DistributedDataParallel(model, device_ids=[device.index]), optimizer, device)
        self.train_loader, self.eval_loader = train_loader, eval_loader
        self.budget, self.eval_every = budget, eval_every
        self.callbacks = list(callbacks)

    def _emit(self, event):
        for cb in self.callbacks:
            cb.run(event, self.state)

    def _lr_factor(self):
        done = min(self.state.tokens / self.budget, 1.0)
        return min(done / 0.01, 1.0) * (0.1 + 0.45 * (1 + math.cos(math.pi * done)))

    def _loss(self, model, window):
        x, y = window[:, :-1], window[:, 1:]
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(x)
        return F.cross_entropy(logits.flatten(0, 1).float(), y.flatten())

    def fit(self):
        s = self.state
        self._emit(Event.FIT_START)
        base = [g["lr"] for g in s.optimizer.param_groups]
        for window in self.train_loader:
            window = window.to(s.device, non_blocking=True)
            s.tokens += window[:, 1:].numel() * dist.get_world_size()
            for lr, g in zip(base, s.optimizer.param_groups):
                g["lr"] = lr * self._lr_factor()
            loss = self._loss(s.model, window)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(s.model.parameters(), 1.0)
            s.optimizer.step()
            s.optimizer.zero_grad(set_to_none=True)
            s.batch += 1
            s.loss = loss.item()
            self._emit(Event.BATCH_END)
            if s.batch % self.eval_every == 0:
                self.evaluate()
            if s.tokens >= self.budget:
                break
        self.evaluate()
        self._emit(Event.FIT_END)

    @torch.no_grad()
    def evaluate(self):
        self.raw.eval()
        total = n = 0.0
        for window in self.eval_loader:
            window = window.to(self.state.device)
            total += self._loss(self.raw, window).item() * len(window)
            n += len(window)
        total, n = dist.sum_across_ranks(total, n, device=self.state.device)
        self.state.metrics = {"eval_loss": total / n}
        self.raw.train()
        self._emit(Event.EVAL_END)
