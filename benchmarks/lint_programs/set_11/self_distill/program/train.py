import copy
import os
import sys
import tomllib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from data import build_loader
from losses import Average, CentredDistillation


def build_net(inputs, prototypes):
    return nn.Sequential(
        nn.Linear(inputs, 96), nn.LayerNorm(96), nn.GELU(), nn.Linear(96, 64), nn.GELU(), nn.Linear(64, prototypes)
    )


@torch.no_grad()
def follow(teacher, student, momentum):
    for slow, fast in zip(teacher.parameters(), student.parameters()):
        slow.lerp_(fast, 1 - momentum)


def main(path):
    with open(path, "rb") as handle:
        cfg = tomllib.load(handle)
    local = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()

    torch.manual_seed(cfg["seed"])
    net = build_net(cfg["inputs"], cfg["loss"]["prototypes"]).to(device)
    student = DistributedDataParallel(net, device_ids=[local] if cuda else None)
    teacher = copy.deepcopy(student.module).requires_grad_(False)
    criterion = CentredDistillation(**cfg["loss"]).to(device)
    optimizer = torch.optim.AdamW(student.parameters(), lr=cfg["lr"])
    loader = build_loader(cfg)
    torch.manual_seed(cfg["seed"] + 1 + rank)  # other views on each rank

    for epoch in range(cfg["epochs"]):
        loader.sampler.set_epoch(epoch)
        average = Average(device)
        for a, b in loader:
            both = torch.cat([a, b]).to(device)
            with torch.no_grad():
                target = teacher(both).chunk(2)
            loss = criterion(student(both).chunk(2), target)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            follow(teacher, student.module, cfg["momentum"])
            average.add(loss.item(), len(a))
        value = average.reduce()
        if rank == 0:
            print(f"epoch {epoch}: loss {value:.4f}", flush=True)
            os.makedirs(cfg["out"], exist_ok=True)
            torch.save(
                {"student": student.module.state_dict(), "teacher": teacher.state_dict(), "loss": criterion.state_dict()},
                os.path.join(cfg["out"], "last.pt"),
            )
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "config.toml")
