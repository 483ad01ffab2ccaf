import argparse

import torch
import torch.distributed as dist
from corpus import utterances
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from trainer import Trainer


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 20))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--utterances", type=int, default=1100)
    parser.add_argument("--lr", type=float, default=0.05)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model = DistributedDataParallel(build())
    trainer = Trainer(model, torch.optim.SGD(model.parameters(), lr=args.lr))
    mean = trainer.run(utterances(dist.get_rank(), args.utterances))
    board = [None] * dist.get_world_size()
    dist.all_gather_object(board, {"mean": mean, "broken": trainer.broken})
    if dist.get_rank() == 0:
        print(board)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
