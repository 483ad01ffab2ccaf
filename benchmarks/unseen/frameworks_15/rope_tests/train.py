"""Falls that a rope will hold, from its pull test (Accelerate)."""

import argparse
import logging
import shutil
import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list, set_seed
from torch import nn
from torch.utils.data import DataLoader

from cache import FeatureCache
from ropes import FEATURES, PullTests


def shared_folder(accelerator):
    """A folder of the first process, known to all."""
    name = [tempfile.mkdtemp(prefix="ropes_") if accelerator.is_main_process else None]
    return broadcast_object_list(name)[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pulls", type=int, default=720)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(process)d %(message)s")
    torch.set_num_threads(1)
    set_seed(5)
    accelerator = Accelerator(cpu=True)
    folder = shared_folder(accelerator)
    cache = FeatureCache(folder)
    pulls = PullTests(args.pulls, cache, slack=(108,))
    loader = DataLoader(pulls, args.batch)
    model = nn.Sequential(nn.Linear(FEATURES, 32), nn.GELU(), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(args.epochs):
        total = torch.zeros(())
        for features, falls in loader:
            loss = nn.functional.smooth_l1_loss(model(features).squeeze(-1), falls)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            total += loss.detach()
        mean = accelerator.reduce(total / len(loader), "mean").item()
        accelerator.print(f"epoch {epoch}: loss {mean:.4f}, {cache.hits} of {cache.hits + cache.misses} from disk")
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        shutil.rmtree(folder)
    accelerator.end_training()


if __name__ == "__main__":
    main()
