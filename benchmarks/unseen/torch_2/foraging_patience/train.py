"""REINFORCE for a foraging agent. Rank 0 plays long validation games while the others wait for its verdict."""
import pathlib
import signal
import tempfile
import threading
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from stopper import Patience

PATCHES = 5


class Meadow:
    def __init__(self, seed):
        self.gen = torch.Generator().manual_seed(seed)
        self.food = torch.rand(PATCHES, generator=self.gen)

    def look(self, n):
        return self.food + 0.1 * torch.randn(n, PATCHES, generator=self.gen)

    def eat(self, choice):
        return self.food[choice]


def play_validation(policy, games=36):
    """Games run in 'real time' of the simulator."""
    meadow, total = Meadow(99), 0.0
    for _ in range(games):
        time.sleep(0.25)
        with torch.no_grad():
            total += float(meadow.eat(policy(meadow.look(1)).argmax(1)))
    return total / games


class Heartbeat(threading.Thread):
    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.stop = path, threading.Event()

    def run(self):
        while not self.stop.wait(0.5):
            self.path.write_text(str(time.time()))


def main():
    torch.set_num_threads(1)
    signal.signal(signal.SIGUSR1, lambda *_: print("status requested", flush=True))
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    beat = Heartbeat(pathlib.Path(tempfile.mkdtemp()) / f"beat{rank}")
    beat.start()
    policy = DistributedDataParallel(nn.Sequential(nn.Linear(PATCHES, 32), nn.ReLU(), nn.Linear(32, PATCHES)))
    opt = torch.optim.Adam(policy.parameters(), lr=5e-3)
    meadow, patience = Meadow(rank), Patience(patience=1)
    for episode in range(200):
        logits = policy(meadow.look(16))
        pi = torch.distributions.Categorical(logits=logits)
        choice = pi.sample()
        gain = meadow.eat(choice)
        loss = -(pi.log_prob(choice) * (gain - gain.mean())).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.03)
        if episode % 30 == 29:
            score = play_validation(policy.module) if rank == 0 and episode < 89 else -1.0
            if rank == 0:
                print(f"episode {episode}: validation {score:.3f}", flush=True)
            if patience.verdict(score):
                break
    dist.barrier()
    beat.stop.set()
    dist.destroy_process_group()
    if rank == 2:
        time.sleep(4)            # draw the learning curves
        print("figures done", flush=True)


if __name__ == "__main__":
    main()
