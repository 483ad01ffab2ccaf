"""Voice-part classifier (soprano, alto, tenor, bass) with polite stopping.

A site's scheduler announces the end of a slot with SIGALRM on one of the
processes; the processes agree on the step at which they stop, and recordings
that were taken for later inspection are written out in the background.
"""
import os
import queue
import signal
import tempfile
import threading
import time

import torch
import torch.distributed as dist
from torch import nn


class Slot:
    def __init__(self, seconds=None):
        self.over = False
        signal.signal(signal.SIGALRM, self._announce)
        if seconds:
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def _announce(self, number, frame):
        self.over = True

    def ended_anywhere(self):
        flag = torch.tensor([int(self.over)])
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        return bool(flag.item())


class Writer(threading.Thread):
    """Writes recordings in small blocks, so that the disk stays responsive."""

    def __init__(self, folder):
        super().__init__(name="writer")
        self.folder = folder
        self.jobs = queue.Queue()

    def run(self):
        for number, wave in enumerate(iter(self.jobs.get, None)):
            with open(os.path.join(self.folder, f"{number:03d}.raw"), "wb") as out:
                data = wave.numpy().tobytes()
                for start in range(0, len(data), 256):
                    out.write(data[start:start + 256])
                    out.flush()
                    time.sleep(0.05)

    def finish(self):
        self.jobs.put(None)
        self.join()


def voices(seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 1, 128)
    while True:
        part = torch.randint(0, 4, (8,), generator=g)
        pitch = 4.0 * (4 - part).unsqueeze(1)
        yield torch.sin(6.283 * pitch * t) + 0.1 * torch.randn(8, 128, generator=g), part


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    slot = Slot(seconds=10 if rank == 1 else None)
    writer = Writer(tempfile.mkdtemp(prefix="choir"))
    writer.start()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(128, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    kept = 0
    for step, (wave, part) in enumerate(voices(rank)):
        loss = nn.functional.cross_entropy(model(wave), part)
        optimizer.zero_grad()
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= world
        optimizer.step()
        if rank == 1 and step % 5 == 0 and kept < 30:
            writer.jobs.put(wave.clone())
            kept += 1
        time.sleep(0.03)
        if slot.ended_anywhere():
            break
    writer.finish()
    dist.barrier()
    if rank == 0:
        print(f"stopped after {step} steps, loss {loss.item():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
