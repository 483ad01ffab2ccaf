"""Person re-identification with batch-hard triplets."""
import logging
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from reid.data import camera_loader
from reid.engine import Trainer
from reid.net import Embedder


def setup_logging(rank):
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        format=f"%(levelname).1s r{rank} %(name)s: %(message)s",
    )


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    setup_logging(rank)
    torch.manual_seed(3)
    torch.set_num_threads(1)

    model = DistributedDataParallel(Embedder(dim=16))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, weight_decay=5e-4)
    trainer = Trainer(model, optimizer, margin=0.3)

    for epoch in range(int(os.environ.get("EPOCHS", 3))):
        losses = []
        for images, pids in camera_loader(camera=rank, epoch=epoch, batches=24):
            loss = trainer.step(images, pids)
            if loss is not None:
                losses.append(loss)
            if len(losses) % 8 == 0 and rank == 0:
                logging.getLogger("train").info("epoch %d loss %.4f", epoch, losses[-1])
        dist.barrier()
        if rank == 0:
            logging.getLogger("train").info("epoch %d mean %.4f", epoch, sum(losses) / len(losses))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
