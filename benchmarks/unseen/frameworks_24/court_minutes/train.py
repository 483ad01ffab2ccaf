"""Verdicts of village courts, with Fabric: memory is kept in bounds by the padded size of what runs at once."""

import argparse
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader

from minutes import TOKENS, VERDICTS, Court, collate, pieces

COURTS = ["Laxton", "Braunton", "Epworth"]


class Clerk(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.embed = nn.Embedding(TOKENS, width, padding_idx=0)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, VERDICTS)

    def forward(self, words):
        hidden, _ = self.rnn(self.embed(words))
        return self.out(hidden.mean(1))


class Sitting:
    """Training on the cases of the process' own court."""

    def __init__(self, fabric, args):
        self.fabric = fabric
        self.args = args
        model = Clerk()
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        self.model, self.optimizer = fabric.setup(model, optimizer)

    def loader(self, court):
        loader = DataLoader(court, self.args.batch, collate_fn=collate)
        return self.fabric.setup_dataloaders(loader, use_distributed_sampler=False)

    def step(self, batch):
        count = len(batch[1])
        total = 0.0
        for words, verdicts in pieces(batch, self.args.budget):
            loss = nn.functional.cross_entropy(self.model(words), verdicts, reduction="sum") / count
            self.fabric.backward(loss)
            total += loss.item()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return total

    def epoch(self, loader):
        losses = []
        for batch in loader:
            losses.append(self.step(batch))
            time.sleep(0.02)
        return sum(losses) / len(losses)

    @torch.no_grad()
    def accuracy(self, loader):
        right = seen = 0
        for batch in loader:
            for words, truth in pieces(batch, self.args.budget):
                right += (self.model(words).argmax(-1) == truth).sum().item()
                seen += len(truth)
        return self.fabric.all_reduce(torch.tensor(right / seen), reduce_op="mean").item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=960)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--budget", type=int, default=320, help="tokens that run at once, with padding")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fabric = L.Fabric(accelerator="cpu", devices=len(COURTS), strategy="ddp")
    fabric.launch()
    fabric.seed_everything(6)
    disputes = {1: [613]}.get(fabric.global_rank, [])
    sitting = Sitting(fabric, args)
    train = sitting.loader(Court(fabric.global_rank, args.cases, disputes))
    held_out = sitting.loader(Court(10 + fabric.global_rank, 96))
    for epoch in range(args.epochs):
        loss = sitting.epoch(train)
        fabric.barrier()
        accuracy = sitting.accuracy(held_out)
        fabric.print(f"epoch {epoch}: loss {loss:.3f}, accuracy {accuracy:.3f}", flush=True)


if __name__ == "__main__":
    main()
