"""Where to light beacons so that a message crosses the hills: actor-critic, curriculum of four stages.

Gradients are averaged by hand after each update; the stages' maps come through the store.
"""
import argparse
import logging
import os
import threading
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

from terrain import Lookout, Surveyor, hills_of

STAGES = 4


class ActorCritic(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(25, width), nn.Tanh())
        self.policy = nn.Linear(width, 24)
        self.value = nn.Linear(width, 1)

    def forward(self, view):
        hidden = self.body(view)
        return self.policy(hidden).log_softmax(-1), self.value(hidden)[..., 0]


def episode(net, hills, beacons, g):
    """Beacons one after the other; a beacon is worth its height and its distance to the last one."""
    last, log_probs, values, rewards = 0, [], [], []
    for _ in range(beacons):
        view = torch.cat([hills, torch.tensor([last / 24])])
        scores, value = net(view)
        place = int(torch.multinomial(scores.detach().exp(), 1, generator=g))
        log_probs.append(scores[place])
        values.append(value)
        rewards.append(hills[place].item() + 0.05 * min(abs(place - last), 8))
        last = place
    returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
    values = torch.stack(values)
    advantage = returns - values.detach()
    return -(advantage * torch.stack(log_probs)).sum() + 0.5 * (returns - values).square().sum(), sum(rewards)


def average(net):
    for p in net.parameters():
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()


def play_stage(net, optimizer, store, hills, args, g, rank):
    hills = torch.tensor(hills)
    for update in range(args.updates):
        # the longer chains of the last process take their time
        optimizer.zero_grad()
        total = 0.0
        for _ in range(args.episodes * (1 + 2 * (rank == 2))):
            loss, reward = episode(net, hills, 6, g)
            loss.backward()
            total += reward
            store.add("episodes", 1)
        average(net)
        optimizer.step()
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--episodes", type=int, default=2)
    parser.add_argument("--width", type=int, default=32)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(name)s: %(message)s")
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    store = dist.TCPStore(host, port, is_master=False, timeout=timedelta(seconds=90))
    torch.manual_seed(8)
    net = ActorCritic(args.width)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    g = torch.Generator().manual_seed(rank)
    surveyor = Surveyor(store, attempts=4, pause=1.0) if rank == 0 else None
    stopped = threading.Event()
    if rank == 0:
        own = dist.TCPStore(host, port, is_master=False, timeout=timedelta(seconds=90))
        threading.Thread(target=Lookout(own, every=2.0).watch, args=(stopped,)).start()
    for stage in range(STAGES):
        if surveyor is not None:
            surveyor.survey(stage)
        reward = play_stage(net, optimizer, store, hills_of(store, stage), args, g, rank)
        if rank == 0:
            print(f"stage {stage}: {reward:.2f}", flush=True)
    if rank == 1:
        # the last policy on all maps, for the report, while the others wait to leave together
        started, worth = time.monotonic(), 0.0
        while time.monotonic() - started < 3.5:
            with torch.no_grad():
                worth += episode(net, torch.tensor(hills_of(store, STAGES - 1)), 12, g)[1]
        print(f"report: {worth:.0f}", flush=True)
    dist.barrier()
    stopped.set()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
