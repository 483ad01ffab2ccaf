"""Trains in two sittings; the second goes on in the middle of the tapes with a fresh loader."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from gauges import make_loader


class FloodNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(1, 16, batch_first=True)
        self.out = nn.Linear(16, 1)

    def forward(self, series):
        return self.out(self.rnn(series.unsqueeze(-1))[0][:, -1]).squeeze(1)


class Sitting:
    def __init__(self, model, optimizer, args):
        self.model, self.optimizer, self.args = model, optimizer, args
        self.losses = []

    def __call__(self, loader_state, max_batches):
        loader = make_loader(dist.get_rank(), self.args.records, self.args.batch_size)
        if loader_state is not None:
            loader.load_state_dict(loader_state)
        taken = 0
        for series, level in loader:
            loss = nn.functional.mse_loss(self.model(series), level)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.losses.append(loss.item())
            taken += 1
            if taken == max_batches:
                break
        return loader.state_dict(), taken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=240)
    parser.add_argument("--batch-size", type=int, default=6)
    parser.add_argument("--first-sitting", type=int, default=18)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(6)
    torch.set_num_threads(1)
    model = DDP(FloodNet())
    sitting = Sitting(model, torch.optim.Adam(model.parameters(), lr=3e-3), args)
    began = time.time()
    state, first = sitting(None, args.first_sitting)
    dist.barrier()
    _, second = sitting(state, -1)
    dist.barrier()
    if dist.get_rank() == 0:
        print(f"{first} + {second} batches in {time.time() - began:.0f}s, loss {sitting.losses[-1]:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
