"""A river in reaches, one for each rank: edges are exchanged in every step, boats pass from reach to reach."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn

EDGE, COUNT, BOATS = 1, 2, 3


class Reach:
    def __init__(self, cells, chunk, seed):
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.level = torch.rand(cells, generator=torch.Generator().manual_seed(seed + self.rank))
        self.chunk = chunk
        self.boats = torch.rand(40, 3, generator=torch.Generator().manual_seed(self.rank))
        self.up = self.rank - 1 if self.rank > 0 else None
        self.down = self.rank + 1 if self.rank < self.world - 1 else None

    def edges(self):
        left, right = self.level[:1].clone(), self.level[-1:].clone()
        works = []
        for peer, own, other in ((self.up, self.level[:1], left), (self.down, self.level[-1:], right)):
            if peer is not None:
                works.append(dist.isend(own.clone(), peer, tag=EDGE))
                works.append(dist.irecv(other, peer, tag=EDGE))
        for work in works:
            work.wait()
        return torch.cat([left, self.level, right])

    def flow(self):
        padded = self.edges()
        self.level = 0.5 * padded[1:-1] + 0.3 * padded[:-2] + 0.2 * padded[2:]
        return padded

    def leaving(self, share):
        count = int(share * len(self.boats))
        gone, self.boats = self.boats[:count], self.boats[count:]
        return gone

    def hand_over(self, boats):
        dist.send(torch.tensor([len(boats)]), self.down, tag=COUNT)
        for part in range(0, len(boats), self.chunk):
            block = torch.zeros(self.chunk, 3)
            block[: len(boats) - part] = boats[part:part + self.chunk]
            dist.send(block, self.down, tag=BOATS)

    def take_over(self):
        count = torch.zeros(1, dtype=torch.long)
        dist.recv(count, self.up, tag=COUNT)
        blocks = []
        for _ in range(count.item() // self.chunk + 1):
            block = torch.zeros(self.chunk, 3)
            dist.recv(block, self.up, tag=BOATS)
            blocks.append(block)
        self.boats = torch.cat([self.boats, torch.cat(blocks)[: count.item()]])


class Closure(nn.Module):
    """Learns the next level of a cell from its neighbourhood."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def learn(model, optimizer, padded, level):
    loss = nn.functional.mse_loss(model(padded.unfold(0, 3, 1)), level)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--cells", type=int, default=64)
    parser.add_argument("--chunk", type=int, default=8)
    parser.add_argument("--pass-every", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    reach = Reach(args.cells, args.chunk, seed=9)
    torch.manual_seed(0)
    model = Closure()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(1, args.steps + 1):
        time.sleep(0.012)
        padded = reach.flow()
        loss = learn(model, optimizer, padded, reach.level)
        if step % args.pass_every == 0:
            share = 0.1 + 0.02 * (step // args.pass_every)
            boats = reach.leaving(share)
            if reach.up is not None:
                reach.take_over()
            if reach.down is not None:
                reach.hand_over(boats)
            print(f"[{reach.rank}] step {step}: {loss:.5f}, {len(reach.boats)} boats, {len(boats)} left", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
