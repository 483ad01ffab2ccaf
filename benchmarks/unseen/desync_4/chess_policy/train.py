import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from evaluation import Arena
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


@dataclass
class Plan:
    positions: int = 11200
    batch_size: int = 8
    every: int = 60
    rate: float = 1e-3


class Positions(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(64)
        self.boards = torch.randn(count, 64, generator=generator)

    def __len__(self):
        return len(self.boards)

    def __getitem__(self, index):
        time.sleep(0.008)
        return self.boards[index], self.boards[index].argmax()


def main():
    plan = Plan()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    first = dist.get_rank() == 0
    torch.manual_seed(70)
    policy = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Dropout(0.1), nn.Linear(96, 64))
    model = DistributedDataParallel(policy)
    arena = Arena(policy) if first else None
    optimizer = torch.optim.AdamW(model.parameters(), lr=plan.rate)
    data = Positions(plan.positions)
    sampler = DistributedSampler(data, seed=1)
    loader = DataLoader(data, plan.batch_size, sampler=sampler)
    for step, (boards, moves) in enumerate(loader, start=1):
        loss = nn.functional.cross_entropy(model(boards), moves)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if first and step % plan.every == 0:
            print(f"step {step}: loss {loss.item():.3f} score {arena.play(policy):.2f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
