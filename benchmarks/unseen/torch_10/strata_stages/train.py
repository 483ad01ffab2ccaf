"""Rock class from well logs; the network is cut into three stages, one process each."""

import math
from dataclasses import dataclass

import torch
import torch.distributed as dist

from stages import FirstStage, LastStage, MiddleStage


@dataclass
class Config:
    logs: int = 1260
    curves: int = 9
    width: int = 24
    batch_size: int = 32
    micro_batch_size: int = 8
    epochs: int = 6
    lr: float = 3e-3

    @property
    def micro_batches(self):
        return self.batch_size // self.micro_batch_size

    @property
    def rounds(self):
        return math.ceil(self.logs / self.batch_size)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    number, stages = dist.get_rank(), dist.get_world_size()
    cfg = Config()
    kind = FirstStage if number == 0 else LastStage if number == stages - 1 else MiddleStage
    stage = kind(number, stages, cfg)
    for epoch in range(cfg.epochs):
        stage.epoch()
        if kind is LastStage:
            print(f"epoch {epoch} loss of the last batch {stage.loss:.4f}", flush=True)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
