"""Next-word model of soup recipes with Fabric; gradients are accumulated until enough words have been read."""

import argparse
import time

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, Dataset

WORDS = 90


class Recipes(Dataset):
    """Recipes of 40 words; the monastery's book, at the end of the collection, has long ones."""

    def __init__(self, count, per_recipe=40):
        self.count = count
        self.per_recipe = per_recipe
        self.monastery = range(int(count * 0.8), int(count * 0.8) + 64)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        length = self.per_recipe * (2 if i in self.monastery and i % 4 == 2 else 1)
        start = torch.randint(0, WORDS, (), generator=g)
        return (start + torch.arange(length) * (1 + i % 3)) % WORDS


class SoupModel(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, WORDS)

    def forward(self, words):
        hidden, _ = self.rnn(self.embed(words[:, :-1]))
        return nn.functional.cross_entropy(self.out(hidden).flatten(0, 1), words[:, 1:].flatten())


class Accumulator:
    """Decides after which micro-batches the optimizer steps."""

    def __init__(self, words_per_step):
        self.words_per_step = words_per_step
        self.words = 0

    def reset(self):
        self.words = 0

    def full(self, batch):
        self.words += batch.numel()
        if self.words < self.words_per_step:
            return False
        self.words = 0
        return True


def collate(recipes):
    longest = max(len(recipe) for recipe in recipes)
    return torch.stack([recipe.repeat(2)[:longest] for recipe in recipes])


def train_epoch(fabric, model, optimizer, loader, accumulator):
    accumulator.reset()
    losses = []
    for words in loader:
        stepping = accumulator.full(words)
        with fabric.no_backward_sync(model, enabled=not stepping):
            loss = model(words)
            fabric.backward(loss)
        losses.append(loss.detach())
        time.sleep(0.01)
        if stepping:
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()
    optimizer.zero_grad()
    return torch.stack(losses).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--recipes", type=int, default=1920)
    parser.add_argument("--first", type=int, default=960, help="recipes of the first stage")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--words-per-step", type=int, default=640)
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=4, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(6)
    model = SoupModel()
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=2e-3))
    accumulator = Accumulator(args.words_per_step)
    everything = Recipes(args.recipes)
    # a curriculum: the younger recipes first, then all of them in the order of the shelf
    for stage, data in enumerate([torch.utils.data.Subset(everything, range(args.first)), everything]):
        loader = fabric.setup_dataloaders(DataLoader(data, args.batch, shuffle=False, collate_fn=collate))
        for epoch in range(args.epochs):
            loss = train_epoch(fabric, model, optimizer, loader, accumulator)
            shelf = fabric.all_gather(loss)
            fabric.print(f"stage {stage} epoch {epoch}: {[round(x, 3) for x in shelf.tolist()]}")


if __name__ == "__main__":
    main()
