"""Gradient-boosted stumps on claims data; every rank holds a share of the rows."""
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist

from lifecycle import Heartbeat, NodeAgent, PreemptionGuard, render_report

ROUNDS, ROWS, COLS, SHRINK = 100, 256, 9, 0.3


class Booster:
    def __init__(self, x, y):
        self.x, self.y = x, y
        self.margin = torch.zeros_like(y)
        self.stumps = []

    def round(self):
        """One stump on the sums of gradients of all ranks."""
        residual = self.y - self.margin.sigmoid()
        above = (self.x > 0).float()
        sums = torch.stack([above.T @ residual, (1 - above).T @ residual, above.sum(0)])
        dist.all_reduce(sums)
        total = ROWS * dist.get_world_size()
        gain = sums[0] ** 2 / (sums[2] + 1) + sums[1] ** 2 / (total - sums[2] + 1)
        column = int(gain.argmax())
        high = (sums[0][column] / (sums[2][column] + 1)).item()
        low = (sums[1][column] / (total - sums[2][column] + 1)).item()
        self.margin += SHRINK * torch.where(self.x[:, column] > 0, 4 * high, 4 * low)
        self.stumps.append((column, high, low))
        loss = torch.nn.functional.binary_cross_entropy_with_logits(self.margin, self.y)
        dist.all_reduce(loss)
        return loss.item() / dist.get_world_size()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    scratch = Path(tempfile.gettempdir())
    guard = PreemptionGuard()
    beat = Heartbeat(scratch / f"claims_beat_{rank}")
    beat.start()
    if rank == 1:
        NodeAgent(delay=2.0).start()

    gen = torch.Generator().manual_seed(rank)
    x = torch.randn(ROWS, COLS, generator=gen)
    y = ((x[:, 0] > 0) ^ (x[:, 1] + x[:, 2] > 0.5)).float()
    booster, history = Booster(x, y), []
    for number in range(ROUNDS):
        history.append(booster.round())
        if guard.requested():
            if rank == 0:
                torch.save({"stumps": booster.stumps}, scratch / "claims_preempt.pt")
                print(f"round {number}: notice received, state saved", flush=True)
            dist.barrier()
        time.sleep(0.06)
    beat.stop()
    dist.destroy_process_group()

    if rank == 1:
        render_report(history, scratch / "claims_report.txt")
        print("report written", flush=True)


if __name__ == "__main__":
    main()
