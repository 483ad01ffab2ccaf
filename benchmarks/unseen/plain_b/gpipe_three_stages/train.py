"""Regression on tabular rows, three pipeline stages by hand (send/recv only)."""
import os
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

from stages import N_IN, First, Last, Middle

CFG = dict(rows=409, batch=16, n_micro=4, epochs=3)


def loader():
    g = torch.Generator().manual_seed(5)
    x = torch.randn(CFG["rows"], N_IN, generator=g)
    y = x[:, :3].sum(1) + 0.1 * torch.randn(CFG["rows"], generator=g)
    return DataLoader(TensorDataset(x, y), batch_size=CFG["batch"])


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    per_epoch = -(-CFG["rows"] // CFG["batch"])

    if rank == 0:
        stage, data = First(rank, CFG["n_micro"]), loader()
        for epoch in range(CFG["epochs"]):
            for x, y in data:
                stage.step(x, y)
                time.sleep(0.02)
    elif rank < int(os.environ["WORLD_SIZE"]) - 1:
        stage = Middle(rank, CFG["n_micro"])
        for _ in range(CFG["epochs"] * per_epoch):
            stage.step()
    else:
        stage = Last(rank, CFG["n_micro"])
        for i in range(CFG["epochs"] * per_epoch):
            loss = stage.step()
            if i % 10 == 0:
                print(f"batch {i} loss {loss:.4f}", flush=True)

    torch.save(stage.net.state_dict(), f"/tmp/gpipe_stage{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
