import time

import torch
import torch.distributed as dist


class MetricLogger:
    """Keeps loss and speed of each replica; rank 0 prints a line with all of them."""

    def __init__(self, topo, every, tokens_per_step):
        self.topo, self.every = topo, every
        self.tokens_per_step = tokens_per_step
        self.loss = torch.zeros((), device="cuda")
        self.n = 0
        self.t0 = time.perf_counter()

    def update(self, step, loss):
        self.loss += loss.detach()
        self.n += 1
        if (step + 1) % self.every == 0:
            self.flush(step + 1)

    def flush(self, step):
        mean = self.loss / self.n
        dist.all_reduce(mean, group=self.topo.sp_group)
        mean /= self.topo.sp
        dt = time.perf_counter() - self.t0
        if self.topo.is_leader:
            row = {
                "replica": self.topo.replica,
                "loss": mean.item(),
                "tok/s": self.n * self.tokens_per_step / dt,
            }
            rows = [None] * self.topo.replicas if self.topo.rank == 0 else None
            dist.gather_object(row, rows, dst=0, group=self.topo.leader_group)
            if rows is not None:
                losses = " ".join(f"{r['loss']:.3f}" for r in rows)
                speed = sum(r["tok/s"] for r in rows)
                print(f"[{step}] loss per replica: {losses}   {speed:,.0f} tok/s", flush=True)
        self.loss.zero_()
        self.n = 0
        self.t0 = time.perf_counter()
