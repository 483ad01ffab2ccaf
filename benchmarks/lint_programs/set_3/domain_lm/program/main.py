import argparse
import os

import torch
import torch.distributed as dist
import yaml

from mixture import Mixture
from trainer import Trainer

VOCAB = 96


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", default="mix.yaml")
    ap.add_argument("--steps", type=int)
    args = ap.parse_args()
    with open(args.config) as f:
        cfg = yaml.safe_load(f)
    cfg["steps"] = args.steps or cfg["steps"]

    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    stream = Mixture(cfg["domains"], cfg["batch_size"], cfg["seq_len"], VOCAB, cfg["seed"] * 1000 + dist.get_rank())
    Trainer(cfg, stream, VOCAB, device).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
