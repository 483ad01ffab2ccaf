"""Short training run followed by a model card with bootstrap intervals."""
import io
import queue
import threading
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Uploader(threading.Thread):
    """Sends the finished sections one after the other; a slow line."""

    def __init__(self, seconds_per_section):
        super().__init__(name="uploader")
        self.q = queue.Queue()
        self.pause = seconds_per_section
        self.sent = 0

    def run(self):
        for section in iter(self.q.get, None):
            deadline = time.monotonic() + self.pause
            while time.monotonic() < deadline:
                time.sleep(0.05)
            self.sent += len(section)


def bootstrap(errors, rounds, gen):
    means = []
    for _ in range(rounds):
        pick = torch.randint(0, len(errors), (len(errors),), generator=gen)
        means.append(errors[pick].mean())
        time.sleep(0.004)
    return torch.stack(means).quantile(torch.tensor([0.025, 0.975])).tolist()


def write_card(errors, sections=("overall", "young", "middle", "old")):
    up = Uploader(seconds_per_section=6.0)
    up.start()
    gen = torch.Generator().manual_seed(1)
    for part, name in zip(errors.chunk(len(sections)), sections):
        low, high = bootstrap(part, 800, gen)
        text = io.StringIO()
        print(f"## {name}\nMAE {part.mean():.3f} [{low:.3f}, {high:.3f}]", file=text)
        up.q.put(text.getvalue())
    up.q.put(None)
    up.join()
    print(f"card: {up.sent} characters", flush=True)


def main(steps=50):
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(9, 24), nn.ReLU(), nn.Linear(24, 1)))
    opt = torch.optim.SGD(model.parameters(), 1e-2, momentum=0.9)
    gen = torch.Generator().manual_seed(10 + rank)
    for step in range(steps):
        x = torch.randn(12, 9, generator=gen)
        loss = (model(x).squeeze(1) - x[:, :3].sum(1)).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.02)
    with torch.no_grad():
        x = torch.randn(64, 9, generator=gen)
        err = (model.module(x).squeeze(1) - x[:, :3].sum(1)).abs()
    everyone = [torch.empty_like(err) for _ in range(world)]
    dist.all_gather(everyone, err)
    dist.destroy_process_group()
    if rank == world - 1:
        write_card(torch.cat(everyone))


if __name__ == "__main__":
    main()
