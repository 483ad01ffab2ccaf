"""The strength of paper from its fibres. Each mill trains alone for a round, then the mills average their weights."""

import argparse
import logging
import tempfile
import time
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object, set_seed
from torch import nn

from press import dry_patiently, write_slowly
from sheets import FIBRES, Mill, Samples

log = logging.getLogger("mills")


def average(accelerator, model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(accelerator.reduce(parameter.detach().clone(), reduction="mean"))


def local_round(model, optimizer, mill, pause):
    losses = []
    for fibres, strength in mill.round():
        loss = nn.functional.mse_loss(model(fibres).squeeze(-1), strength)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        time.sleep(pause)
    return losses


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--pause", type=float, default=0.04)
    parser.add_argument("--press-every", type=int, default=4)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    torch.set_num_threads(1)
    set_seed(2)
    accelerator = Accelerator(cpu=True)
    rank = accelerator.process_index
    mill = Mill(rank, args.size)
    model = nn.Sequential(nn.Linear(FIBRES, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    samples = Samples(pause=0.6) if rank == 2 else None
    if samples:
        samples.start()
    average(accelerator, model)
    for number in range(args.rounds):
        losses = local_round(model, optimizer, mill, args.pause)
        if rank == 1 and number % args.press_every == 2:
            log.info("round %d: %.3f of the water is left", number, dry_patiently(sheets=35))
        average(accelerator, model)
        if samples:
            samples.put(losses[-1])
        if number == args.rounds // 2:
            if accelerator.is_main_process:
                with tempfile.TemporaryDirectory() as folder:
                    write_slowly(Path(folder, "weights"), [p.detach() for p in model.parameters()], pause=1.3)
            accelerator.wait_for_everyone()
        counts = gather_object([len(losses)])
        accelerator.print(f"round {number}: {counts} batches, last loss {losses[-1]:.4f}", flush=True)
    accelerator.wait_for_everyone()
    accelerator.end_training()
    if samples:
        samples.close()
        log.info("%d samples are filed", len(samples.filed))


if __name__ == "__main__":
    main()
