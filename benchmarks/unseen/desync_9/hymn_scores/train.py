"""The chord that follows, in hymns; Accelerate with accumulated gradients."""

import argparse

import torch
from accelerate import Accelerator
from torch import nn

from hymns import CHORDS, hymnal_loader, pieces


class ChordModel(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Linear(CHORDS, width)
        self.out = nn.Linear(width, 4)

    def forward(self, chords):
        return self.out(torch.tanh(self.embed(chords)))


class Choir:
    def __init__(self, args):
        self.args = args
        self.accelerator = Accelerator(cpu=True, gradient_accumulation_steps=args.accumulate)
        torch.manual_seed(40)
        model = ChordModel()
        optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)
        self.criterion = nn.CrossEntropyLoss()
        self.steps = 0

    def piece(self, chords, following):
        with self.accelerator.accumulate(self.model):
            loss = self.criterion(self.model(chords).flatten(0, 1), following.flatten())
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()
        self.steps += self.accelerator.sync_gradients
        return loss.item()

    def rehearse(self):
        loader = hymnal_loader(self.accelerator.process_index, self.args.verses)
        for number, (chords, following) in enumerate(loader):
            losses = [self.piece(*part) for part in pieces(chords, following, self.args.longest)]
            if number % 60 == 0:
                self.accelerator.print(f"batch {number}: {sum(losses) / len(losses):.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--verses", type=int, default=8 * 480)
    parser.add_argument("--longest", type=int, default=16)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--lr", type=float, default=0.05)
    torch.set_num_threads(1)
    choir = Choir(parser.parse_args())
    choir.rehearse()
    choir.accelerator.wait_for_everyone()
    choir.accelerator.print(f"{choir.steps} steps", flush=True)
    choir.accelerator.end_training()


if __name__ == "__main__":
    main()
