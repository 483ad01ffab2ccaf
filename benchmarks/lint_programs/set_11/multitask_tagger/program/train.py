import os
import sys
import tomllib

import torch
import torch.distributed as dist

from tasks import Task
from trainer import Trainer


def main(path):
    with open(path, "rb") as handle:
        cfg = tomllib.load(handle)
    local = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    torch.manual_seed(cfg["seed"])
    tasks = [
        Task(name, inputs=cfg["inputs"], seed=cfg["seed"] + k, **spec)
        for k, (name, spec) in enumerate(sorted(cfg["tasks"].items()))
    ]
    Trainer(cfg, tasks, device, local).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "config.toml")
