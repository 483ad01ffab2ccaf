"""Autoencoder for satellite tiles, DeepSpeed ZeRO-2. Rank 1 keeps a gallery of
reconstructions; a sheet that cannot be drawn must not stop the training."""
import logging
import tempfile
import time

import deepspeed
import torch
import torch.nn as nn
from deepspeed.ops import __compatible_ops__

from gallery import Gallery

__compatible_ops__["deepspeed_shm_comm"] = False  # needs a compiler at run time

SIDE = 6
STEPS = 140
SHEET_EVERY = 12
CURATOR = 1


def tiles(rank, batch=8):
    """Tiles of one strip; where the strip leaves the coast they are plain water."""
    g = torch.Generator().manual_seed(300 + rank)
    n = 0
    while True:
        x = torch.rand(batch, SIDE * SIDE, generator=g)
        if 20 <= n <= 26:
            x[1] = 0.125
        n += 1
        yield x


def autoencoder():
    torch.manual_seed(0)
    pixels = SIDE * SIDE
    return nn.Sequential(nn.Linear(pixels, 20), nn.ReLU(), nn.Linear(20, pixels))


def build_engine():
    model = autoencoder()
    config = {
        "train_micro_batch_size_per_gpu": 8,
        "gradient_accumulation_steps": 1,
        "zero_optimization": {"stage": 2},
        "steps_per_print": 10**6,
    }
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return deepspeed.initialize(model=model, optimizer=optimizer, config=config)[0]


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    deepspeed.init_distributed(dist_backend="gloo")
    engine = build_engine()
    rank = engine.global_rank
    gallery = Gallery(tempfile.mkdtemp(prefix="tiles-")) if rank == CURATOR else None

    stream = tiles(rank)
    for step in range(1, STEPS + 1):
        x = next(stream)
        y = engine(x)
        loss = nn.functional.mse_loss(y, x)
        engine.backward(loss)
        engine.step()
        if rank == 0 and step % 20 == 0:
            logging.info("step %d mse %.4f", step, loss.item())
        if gallery is not None and step % SHEET_EVERY == 0:
            try:
                gallery.add(step, x[:4], y[:4].detach())
            except (ArithmeticError, ValueError) as err:
                logging.warning("no sheet for step %d: %s", step, err)
        time.sleep(0.02)

    deepspeed.comm.barrier()
    deepspeed.comm.destroy_process_group()


if __name__ == "__main__":
    main()
