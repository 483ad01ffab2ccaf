"""Which reed is it, and is it in tune? A small convolutional net over raw samples, one box of reeds per rank."""
import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from guard import tolerant
from reeds import PITCHES, ReedBox


class ReedNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.front = nn.Conv1d(1, width, 32, stride=8)
        self.mid = nn.Conv1d(width, width, 5, stride=2)
        self.head = nn.Linear(width, PITCHES)

    def forward(self, x):
        x = torch.relu(self.front(x.unsqueeze(1)))
        x = torch.relu(self.mid(x)).mean(-1)
        return self.head(x)


class Trainer:
    def __init__(self, model, box, lr):
        self.model = model
        self.box = box
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    @tolerant(ValueError, OSError)
    def step(self, numbers):
        clips, labels = zip(*(self.box.read(n) for n in numbers))
        loss = nn.functional.cross_entropy(self.model(torch.stack(clips)), torch.tensor(labels))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def epoch(self, size):
        losses = []
        for numbers in self.box.batches(size):
            loss = self.step(numbers)
            if loss is not None:
                losses.append(loss)
        # everybody is through with the epoch before the shared learning rate drops
        dist.barrier()
        for group in self.optimizer.param_groups:
            group["lr"] *= 0.5
        return sum(losses) / max(1, len(losses))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--reeds", type=int, default=640)
    parser.add_argument("--batch", type=int, default=4)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    rank = dist.get_rank()
    trainer = Trainer(DDP(ReedNet()), ReedBox(rank, args.reeds), lr=2e-3)
    for epoch in range(args.epochs):
        loss = trainer.epoch(args.batch)
        if rank == 0:
            print(f"epoch {epoch}: {loss:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
