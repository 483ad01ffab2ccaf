import os
import sys
import tomllib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import nets  # noqa: F401  (fills the registries)
from data import endless
from engine import Trainer
from registry import MODELS, OBJECTIVES


def main(path):
    with open(path, "rb") as handle:
        cfg = tomllib.load(handle)
    cuda = torch.cuda.is_available()
    local = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    torch.manual_seed(cfg["seed"])

    model = MODELS.build(cfg["model"]).to(device)
    objective = OBJECTIVES.build(cfg["objective"], model)
    model = DistributedDataParallel(model, device_ids=[local] if cuda else None)
    Trainer(cfg, model, objective, endless(cfg), device).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "config.toml")
