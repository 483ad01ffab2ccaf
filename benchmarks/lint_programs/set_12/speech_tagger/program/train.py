"""torchrun --nproc-per-node 2 train.py --config config.yaml"""
import argparse

import torch
import torch.distributed as dist
import yaml
from torch import nn

from data import build_loader
from engine import comm
from engine.trainer import Trainer


class Tagger(nn.Module):
    def __init__(self, bins, width, tags):
        super().__init__()
        self.front = nn.Conv1d(bins, width, 5, padding=2)
        self.mid = nn.Conv1d(width, width, 5, padding=2)
        self.norm = nn.GroupNorm(4, width)
        self.out = nn.Linear(width, tags)

    def forward(self, x):
        h = torch.relu(self.front(x.transpose(1, 2)))
        h = torch.relu(self.norm(self.mid(h)))
        return self.out(h.mean(-1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.yaml")
    with open(parser.parse_args().config) as f:
        cfg = yaml.safe_load(f)
    comm.init()
    torch.manual_seed(cfg["seed"])
    d = cfg["data"]
    model = Tagger(d["bins"], cfg["model"]["width"], d["tags"])
    Trainer(cfg, model, build_loader(cfg, "train"), build_loader(cfg, "val")).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
