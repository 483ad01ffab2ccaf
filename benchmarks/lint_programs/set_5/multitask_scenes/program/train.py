"""torchrun --nproc_per_node=4 train.py configs/nyu.yaml"""
import os
import sys

import torch
import torch.distributed as dist
import yaml
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from scenes.data import Scenes
from scenes.losses import WeightedSum
from scenes.model import SceneNet


def build(cfg, device):
    model = SceneNet(list(cfg["tasks"]), **cfg["model"]).to(device)
    criterion = WeightedSum(cfg["tasks"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["optim"]["lr"],
                                  weight_decay=cfg["optim"]["weight_decay"])
    ddp = DistributedDataParallel(model, device_ids=[device.index] if device.type == "cuda" else None)
    return ddp, criterion, optimizer


def main(config):
    with open(config) as f:
        cfg = yaml.safe_load(f)
    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    torch.manual_seed(0)

    dataset = Scenes(cfg["data"]["root"])
    sampler = DistributedSampler(dataset, shuffle=True, drop_last=True)
    loader = DataLoader(dataset, cfg["data"]["batch_size"], sampler=sampler, num_workers=cfg["data"]["workers"],
                        drop_last=True)
    model, criterion, optimizer = build(cfg, device)
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, cfg["optim"]["epochs"] * len(loader), power=0.9)

    for epoch in range(cfg["optim"]["epochs"]):
        sampler.set_epoch(epoch)
        model.train()
        for batch in loader:
            batch = {k: v.to(device, non_blocking=True) for k, v in batch.items()}
            loss, parts = criterion(model(batch["image"]), batch)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            scheduler.step()
        if dist.get_rank() == 0:
            print(f"epoch {epoch} " + " ".join(f"{t} {p.item():.3f}" for t, p in parts.items()), flush=True)
            os.makedirs(cfg["out"], exist_ok=True)
            torch.save(model.module.state_dict(), os.path.join(cfg["out"], "last.pt"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
