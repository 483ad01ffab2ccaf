import torch
import torch.distributed as dist


class Loop:
    """Runs epochs of micro batches; one optimizer step for every `accum` of them."""

    def __init__(self, engine, loader, sampler, accum, log_every=10):
        self.engine, self.loader, self.sampler = engine, loader, sampler
        self.accum = accum
        self.log_every = log_every
        self.updates = 0

    def log(self, loss):
        loss = loss.detach().clone()
        dist.all_reduce(loss)
        if dist.get_rank() == 0:
            print(f"update {self.updates} loss {loss.item() / dist.get_world_size():.4f} "
                  f"lr {self.engine.get_lr()[0]:.2e}", flush=True)

    def epoch(self, number):
        self.engine.train()
        self.sampler.set_epoch(number)
        for micro, ids in enumerate(self.loader):
            loss = self.engine(ids.to(self.engine.device))
            self.engine.backward(loss)
            if (micro + 1) % self.accum == 0:
                self.engine.step()
                self.updates += 1
                if self.updates % self.log_every == 0:
                    self.log(loss)
