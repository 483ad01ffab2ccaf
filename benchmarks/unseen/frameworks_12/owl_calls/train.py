"""Which owl calls in a recording: a small convolutional network, trained with Accelerate."""

import argparse
import tempfile
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset

from roster import Roster

OWLS = ("tawny", "barn", "eagle", "little")


class Recordings(Dataset):
    def __init__(self, count, roosts, seed):
        g = torch.Generator().manual_seed(seed)
        self.owl = torch.randint(0, len(OWLS), (count,), generator=g)
        self.roost = torch.randint(0, roosts, (count,), generator=g)
        pitch = 0.2 + 0.15 * self.owl.float()
        t = torch.arange(64.0)
        self.sound = torch.sin(pitch[:, None] * t) + 0.7 * torch.randn(count, 64, generator=g)

    def __len__(self):
        return len(self.owl)

    def __getitem__(self, i):
        return {"sound": self.sound[i], "owl": self.owl[i], "roost": self.roost[i]}


def network():
    return nn.Sequential(
        nn.Unflatten(1, (1, 64)),
        nn.Conv1d(1, 8, 7, padding=3),
        nn.ReLU(),
        nn.MaxPool1d(4),
        nn.Conv1d(8, 16, 5, padding=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool1d(4),
        nn.Flatten(),
        nn.Linear(64, len(OWLS)),
    )


def train_epoch(accelerator, model, optimizer, loader, pause):
    model.train()
    for batch in loader:
        loss = nn.functional.cross_entropy(model(batch["sound"]), batch["owl"])
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        time.sleep(pause)


@torch.no_grad()
def listen(accelerator, model, loader, roster):
    model.eval()
    roster.reset()
    total = torch.zeros(2)
    for batch in loader:
        correct = model(batch["sound"]).argmax(1) == batch["owl"]
        roster.add(batch["roost"], correct)
        total += torch.tensor([correct.sum(), len(correct)])
    right, count = accelerator.reduce(total).tolist()
    return right / count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--recordings", type=int, default=1200)
    parser.add_argument("--roosts", type=int, default=12)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--roster-every", type=int, default=5)
    parser.add_argument("--pause", type=float, default=0.02)
    args = parser.parse_args()
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    set_seed(3)
    train = DataLoader(Recordings(args.recordings, args.roosts, 1), args.batch, shuffle=True, drop_last=True)
    held_out = DataLoader(Recordings(240, args.roosts, 2), args.batch)
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    model, optimizer, train, held_out = accelerator.prepare(model, optimizer, train, held_out)
    with tempfile.TemporaryDirectory() as folder:
        roster = Roster(accelerator, args.roosts, folder)
        for epoch in range(1, args.epochs + 1):
            train_epoch(accelerator, model, optimizer, train, args.pause)
            accuracy = listen(accelerator, model, held_out, roster)
            accelerator.print(f"epoch {epoch}: {accuracy:.3f}", flush=True)
            if epoch % args.roster_every == 0:
                roster.publish(epoch)
    accelerator.end_training()


if __name__ == "__main__":
    main()
