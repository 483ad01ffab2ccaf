import torch.distributed as dist

import comm


class Hook:
    def after_step(self, trainer): ...
    def after_train(self, trainer): ...


class PeriodicCheckpointer(Hook):
    def __init__(self, checkpointer, period):
        self.checkpointer, self.period = checkpointer, period

    def after_step(self, trainer):
        if (trainer.iter + 1) % self.period == 0:
            self.checkpointer.save("last", iteration=trainer.iter)


class EvalHook(Hook):
    def __init__(self, period, fn):
        self.period, self.fn = period, fn

    def after_step(self, trainer):
        if (trainer.iter + 1) % self.period:
            return
        results = self.fn()
        trainer.storage.update({f"eval/{k}": (v, trainer.iter) for k, v in results.items()})
        if comm.is_main():
            print(f"iter {trainer.iter + 1} {results}", flush=True)


class BestCheckpointer(Hook):
    def __init__(self, period, checkpointer, metric):
        self.period, self.checkpointer, self.metric = period, checkpointer, metric
        self.best = None

    def after_step(self, trainer):
        if (trainer.iter + 1) % self.period:
            return
        latest = trainer.storage.get(self.metric)
        if latest is None:
            return
        value, it = latest
        if self.best is None or value > self.best:
            self.best = value
            self.checkpointer.save("best", iteration=it, metric=value)


class Trainer:
    def __init__(self, model, optimizer, data, loss_fn):
        self.model, self.optimizer, self.data, self.loss_fn = model, optimizer, iter(data), loss_fn
        self.hooks, self.storage, self.iter = [], {}, 0

    def train(self, max_iter):
        for self.iter in range(max_iter):
            x, y = next(self.data)
            loss = self.loss_fn(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            for h in self.hooks:
                h.after_step(self)
        for h in self.hooks:
            h.after_train(self)
        dist.barrier()
