"""Trains a recogniser of signs; each process has the clips of one signer, read with a loader that can be resumed."""

import argparse
import logging
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torchdata.stateful_dataloader import StatefulDataLoader

from clips import Clips
from trainer import Trainer


@dataclass
class Config:
    micro_batches: int = 1840
    accumulate: int = 4
    lr: float = 2e-3
    clip: float = 1.0
    min_visible: float = 0.3
    seed: int = 13

    @classmethod
    def from_arguments(cls):
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--micro-batches", type=int, default=cls.micro_batches)
        parser.add_argument("--accumulate", type=int, default=cls.accumulate)
        parser.add_argument("--lr", type=float, default=cls.lr)
        return cls(**vars(parser.parse_args()))


def main():
    config = Config.from_arguments()
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)d ms: %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    loader = StatefulDataLoader(Clips(rank, config.micro_batches), batch_size=None, shuffle=False)
    trainer = Trainer(config)
    trainer.train(loader, verbose=rank == 0)
    states = [None] * dist.get_world_size()
    dist.all_gather_object(states, loader.state_dict())
    if rank == 0:
        torch.save({"model": trainer.model.module.state_dict(), "loaders": states}, "/dev/null")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
