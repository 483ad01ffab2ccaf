"""Denoising auto-encoder on seismic traces, read from tape by one worker per process."""
import signal
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torchdata.stateful_dataloader import StatefulDataLoader

from tape import Traces

RECORDS, BATCH = 480, 8
stop_requested = False


def request_stop(signum, frame):
    global stop_requested
    stop_requested = True


def agreed_to_stop():
    flag = torch.tensor(float(stop_requested))
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag)


def save(folder, step, loader):
    path = folder / f"loader-{dist.get_rank()}.pt"
    torch.save({"step": step, "loader": loader.state_dict()}, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    signal.signal(signal.SIGUSR1, request_stop)
    torch.manual_seed(0)
    folder = Path(tempfile.mkdtemp(prefix=f"traces{rank}-"))

    # the tape of the first process lies at its far end
    traces = Traces(rank, RECORDS, wind=15.0 if rank == 0 else 1.0)
    loader = StatefulDataLoader(traces, batch_size=BATCH, num_workers=1, snapshot_every_n_steps=10)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 64)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    began = time.time()
    for step, clean in enumerate(loader, start=1):
        noisy = clean + 0.2 * torch.randn_like(clean)
        loss = nn.functional.mse_loss(model(noisy), clean)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 0:
            save(folder, step, loader)
            if rank == 0:
                print(f"step {step} loss {loss.item():.3f} after {time.time() - began:.0f} s", flush=True)
            if agreed_to_stop():
                break
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
