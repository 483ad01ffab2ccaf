"""Pitch of a singer by truncated backpropagation; gradients are summed over a phrase."""

import argparse
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from recordings import BANDS, Rehearsal


class Tracker(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.memory = nn.GRU(BANDS, width, batch_first=True)
        self.pitch = nn.Linear(width, 1)

    def forward(self, spectrum, state):
        hidden, state = self.memory(spectrum, state)
        return self.pitch(hidden).squeeze(-1), state


class PhraseTrainer:
    """The state goes from chunk to chunk, and the weights change at the end of a phrase."""

    def __init__(self, lr):
        torch.manual_seed(1)
        self.model = DDP(Tracker())
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.state, self.updates = None, 0

    def context(self, chunk):
        return nullcontext() if chunk.last else self.model.no_sync()

    def feed(self, chunk):
        if chunk.first:
            self.state = None
        with self.context(chunk):
            predicted, state = self.model(chunk.spectrum, self.state)
            loss = nn.functional.mse_loss(predicted, chunk.pitch)
            loss.backward()
        self.state = state.detach()
        if chunk.last:
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.updates += 1
        return loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--phrases", type=int, default=165)
    parser.add_argument("--lr", type=float, default=4e-3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    trainer = PhraseTrainer(options.lr)
    for number, chunk in enumerate(Rehearsal(dist.get_rank(), options.phrases)):
        loss = trainer.feed(chunk)
        if number % 100 == 0 and dist.get_rank() == 0:
            print(f"chunk {number}, {trainer.updates} updates: {loss:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
