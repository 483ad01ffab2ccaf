import torch.distributed as dist

from . import comm


class HookBase:
    trainer = None

    def before_train(self):
        pass

    def after_step(self):
        pass

    def after_train(self):
        pass


class LRScheduler(HookBase):
    def __init__(self, scheduler):
        self.scheduler = scheduler

    def after_step(self):
        self.scheduler.step()


class PeriodicWriter(HookBase):
    def __init__(self, period):
        self.period = period

    def after_step(self):
        if (self.trainer.iter + 1) % self.period == 0:
            loss = self.trainer.last_loss.clone()
            dist.all_reduce(loss)
            if comm.is_main_process():
                loss = loss.item() / comm.get_world_size()
                print(f"iter {self.trainer.iter + 1} loss {loss:.4f}", flush=True)


class EvalHook(HookBase):
    def __init__(self, period, function):
        self.period = period
        self.function = function

    def after_step(self):
        if (self.trainer.iter + 1) % self.period == 0:
            acc = self.function()
            if comm.is_main_process():
                print(f"iter {self.trainer.iter + 1} pixel acc {acc:.3f}", flush=True)
            comm.synchronize()


class PeriodicCheckpointer(HookBase):
    def __init__(self, checkpointer, period):
        self.checkpointer = checkpointer
        self.period = period

    def after_step(self):
        step = self.trainer.iter + 1
        if step % self.period == 0 or step == self.trainer.max_iter:
            if comm.is_main_process():
                self.checkpointer.save(f"model_{step:06d}", iteration=step)
            comm.synchronize()
