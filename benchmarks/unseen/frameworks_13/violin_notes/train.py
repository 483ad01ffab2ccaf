"""Pitch of violin notes with Fabric. The first process scores held-out notes and publishes the weights."""

import argparse
import io
import queue
import random
import threading
import time

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

NOTES = 8


class Shelf:
    """An object store that is busy now and then."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.objects = {}

    def put(self, name, blob):
        time.sleep(0.3)
        if self.random.random() < 0.6:
            raise OSError(f"503 slow down: {name}")
        self.objects[name] = len(blob)


class Publisher:
    """Uploads in a thread of its own, with retries; it ends after the last object."""

    def __init__(self, shelf):
        self.shelf = shelf
        self.jobs = queue.Queue()
        self.thread = threading.Thread(target=self.work, name="publisher")
        self.thread.start()

    def work(self):
        while (job := self.jobs.get()) is not None:
            for attempt in range(8):
                try:
                    self.shelf.put(*job)
                    break
                except OSError:
                    time.sleep(0.3 * (attempt + 1))

    def publish(self, name, model):
        blob = io.BytesIO()
        torch.save(model.state_dict(), blob)
        self.jobs.put((name, blob.getvalue()))

    def close(self):
        self.jobs.put(None)


def notes(count, seed):
    g = torch.Generator().manual_seed(seed)
    pitch = torch.randint(0, NOTES, (count,), generator=g)
    timbre = torch.randn(NOTES, 32, generator=torch.Generator().manual_seed(0))
    return TensorDataset(timbre[pitch] + 2.6 * torch.randn(count, 32, generator=g), pitch)


@torch.no_grad()
def score(model, data, pause):
    """Note by note, as the player hears them."""
    model.eval()
    hits = 0
    for sound, pitch in data:
        hits += int(model(sound[None]).argmax(1).item() == pitch)
        time.sleep(pause)
    model.train()
    return torch.tensor([hits / len(data)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--pause", type=float, default=0.02)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(9)
    network = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, NOTES))
    model, optimizer = fabric.setup(network, torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9))
    loader = fabric.setup_dataloaders(DataLoader(notes(1440, 1), batch_size=16, shuffle=True))
    held_out = notes(240, 2)
    publisher = Publisher(Shelf(seed=2)) if fabric.is_global_zero else None
    for epoch in range(args.epochs):
        for sound, pitch in loader:
            loss = nn.functional.cross_entropy(model(sound), pitch)
            optimizer.zero_grad()
            fabric.backward(loss)
            optimizer.step()
        accuracy = torch.zeros(1)
        if fabric.is_global_zero:
            accuracy = score(network, held_out, args.pause)
            for part in ("weights", "ema", "card"):
                publisher.publish(f"{part}-{epoch}", network)
        accuracy = fabric.broadcast(accuracy, src=0)
        fabric.print(f"epoch {epoch}: {accuracy.item():.3f}")
        if accuracy.item() > 0.999:
            break
    if publisher is not None:
        publisher.close()


if __name__ == "__main__":
    main()
