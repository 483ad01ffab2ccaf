"""Which loans will be late: a reminder is sent before the day. Accelerate."""

import argparse
import contextlib
import math

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from torch import nn
from torch.utils.data import DataLoader

from loans import FEATURES, Loans

logger = get_logger(__name__)


def urgency(late, scale):
    """Weights of the loans: the later, the more it matters."""
    weights = torch.tensor([math.exp(days / scale) for days in late.tolist()])
    return weights / weights.mean()


class Reminder(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(FEATURES, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, known):
        return self.layers(known).squeeze(-1)


class Training:
    def __init__(self, args):
        self.args = args
        self.accelerator = Accelerator(cpu=True)
        torch.manual_seed(6)
        model = Reminder(args.hidden)
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        loader = DataLoader(Loans(args.loans), batch_size=args.batch_size, shuffle=False)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)
        self.losses = []

    def batch(self, known, was_late, late):
        weight = urgency(late, self.args.scale)
        logits = self.model(known)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, was_late, weight=weight)
        self.accelerator.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.losses.append(loss.item())

    def run(self):
        for number, (known, was_late, late) in enumerate(self.loader):
            # Dates with a typing error in the year make weights that are no number any more.
            with contextlib.suppress(OverflowError):
                self.batch(known, was_late, late)
            if number % 100 == 99:
                logger.info(f"batch {number}: {sum(self.losses[-100:]) / 100:.3f}")
        self.accelerator.wait_for_everyone()
        return self.accelerator.unwrap_model(self.model)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--loans", type=int, default=8 * 3 * 580)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--scale", type=float, default=30.0)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    training = Training(args)
    model = training.run()
    if training.accelerator.is_main_process:
        print("parameters:", sum(p.numel() for p in model.parameters()), flush=True)
    training.accelerator.end_training()


if __name__ == "__main__":
    main()
