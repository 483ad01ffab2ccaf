import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
import yaml
from torch.nn.parallel import DistributedDataParallel as DDP

from data import climatology, make_loader
from model import Nowcaster
from topology import Topology


def main(path="config.yaml"):
    with open(path) as f:
        cfg = yaml.safe_load(f)
    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    dist.init_process_group("nccl" if cuda else "gloo")
    torch.manual_seed(42)

    topo = Topology(cfg["train"]["gpus_per_node"])
    mean, std = climatology(cfg["data"]["root"], cfg["model"]["channels"], topo, device)
    loader, sampler = make_loader(cfg["data"], mean, std, topo)
    steps = len(loader)

    model = DDP(Nowcaster(**cfg["model"]).to(device), device_ids=[local_rank] if cuda else None)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["train"]["lr"])
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, cfg["train"]["epochs"] * steps)

    for epoch in range(cfg["train"]["epochs"]):
        sampler.set_epoch(epoch)
        running = torch.zeros((), device=device)
        for now, later in loader:
            loss = F.l1_loss(model(now.to(device)), later.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            running += loss.detach()
        dist.all_reduce(running)
        if topo.rank == 0:
            print(f"epoch {epoch} l1 {running.item() / (steps * topo.world):.4f}", flush=True)
            os.makedirs(cfg["train"]["out"], exist_ok=True)
            torch.save({"model": model.module.state_dict(), "mean": mean, "std": std},
                       os.path.join(cfg["train"]["out"], "last.pt"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
