"""Counting anemones in photographs of tide pools; the shores are of very different lengths."""

import argparse
import time

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object, set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset

from catalogue import Board, convert

PATCH = 36


class Pools(Dataset):
    """Patches of rock and how many anemones sit there; some files answer only when asked again."""

    def __init__(self, count, seed, shore=0):
        self.count, self.seed, self.shore = count, seed, shore
        self.weights = torch.rand(PATCH, generator=torch.Generator().manual_seed(2))

    def __len__(self):
        return self.count

    def read(self, i, attempt):
        if self.shore and i % 97 == 13 * self.shore and attempt < 2:
            raise TimeoutError(f"pool {i}")
        g = torch.Generator().manual_seed(self.seed * 100_000 + i)
        patch = torch.rand(PATCH, generator=g)
        if i % 61 == 17 * self.shore:
            patch[3] = float("nan")  # a splash on the lens
        return patch, (patch.nan_to_num() @ self.weights).round()

    def __getitem__(self, i):
        for attempt in range(4):
            try:
                return self.read(i, attempt)
            except TimeoutError:
                time.sleep(0.4 * (attempt + 1))
        raise OSError(f"pool {i} cannot be read")


def train(accelerator, model, optimizer, loader):
    """An epoch; a batch with a splash on any shore is left out by all processes together."""
    left_out = 0
    for patches, counts in loader:
        unfit = torch.isnan(patches).any().float().reshape(1)
        if accelerator.reduce(unfit, "sum").item() > 0:
            left_out += 1
            continue
        loss = nn.functional.poisson_nll_loss(model(patches).squeeze(-1), counts)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.01)
    return left_out


@torch.no_grad()
def survey(accelerator, model, lengths):
    """Counts along the process' own shore, which takes as long as the shore is."""
    bare = accelerator.unwrap_model(model)
    stretches = []
    for stretch in range(lengths[accelerator.process_index]):
        patch = torch.rand(64, PATCH, generator=torch.Generator().manual_seed(stretch))
        stretches.append(bare(patch).exp().sum().item())
        time.sleep(0.15)
    return gather_object([{"shore": accelerator.process_index, "stretches": stretches}])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pools", type=int, default=480)
    parser.add_argument("--seasons", type=int, default=2)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(17)
    accelerator = Accelerator(cpu=True)
    own = Pools(args.pools, seed=accelerator.process_index, shore=accelerator.process_index)
    loader = DataLoader(own, 8, shuffle=False, num_workers=1)  # each process has its own shore, of as many pools
    model = nn.Sequential(nn.Linear(PATCH, 32), nn.ReLU(), nn.Linear(32, 1))
    model, optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=args.lr))
    board = Board()
    if accelerator.is_main_process:
        board.start()
    for season in range(args.seasons):
        left_out = train(accelerator, model, optimizer, loader)
        shores = survey(accelerator, model, lengths=(6, 24, 12))
        if accelerator.is_main_process:
            board.pin(f"season {season}: {sum(len(s['stretches']) for s in shores)} stretches, {left_out} batches left out")
            convert(pools=10)
        accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        for shore in shores:
            board.pin(f"shore {shore['shore']}: {sum(shore['stretches']):.0f} anemones")
        board.close()
    accelerator.end_training()


if __name__ == "__main__":
    main()
