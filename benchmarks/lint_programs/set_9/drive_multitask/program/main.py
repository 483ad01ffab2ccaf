import argparse
import os

import torch
import torch.distributed as dist
import yaml
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from data import Collate, build_dataset
from model import MultiTaskNet
from tasks import collect_tasks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.yaml")
    parser.add_argument("--out")
    args = parser.parse_args()
    with open(args.config) as f:
        cfg = yaml.safe_load(f)
    out = args.out or cfg["out"]

    use_cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    if use_cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if use_cuda else "gloo")
    rank = dist.get_rank()
    device = torch.device("cuda", local_rank) if use_cuda else torch.device("cpu")
    torch.manual_seed(cfg["seed"] + rank)

    tasks = collect_tasks(cfg)
    names = [t.name for t in tasks]
    dataset = build_dataset(cfg)
    sampler = DistributedSampler(dataset, shuffle=True, seed=cfg["seed"], drop_last=True)
    loader = DataLoader(dataset, cfg["batch_size"], sampler=sampler, drop_last=True,
                        collate_fn=Collate(names), pin_memory=use_cuda)

    model = DDP(MultiTaskNet(tasks).to(device), device_ids=[local_rank] if use_cuda else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])

    for epoch in range(cfg["epochs"]):
        sampler.set_epoch(epoch)
        model.train()
        sums = torch.zeros(len(tasks), device=device)
        for x, targets in loader:
            x = x.to(device, non_blocking=True)
            targets = {k: v.to(device, non_blocking=True) for k, v in targets.items()}
            loss, losses = model(x, targets)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            sums += torch.stack([losses[n].detach() for n in names])
        dist.all_reduce(sums)
        sums /= len(loader) * dist.get_world_size()
        if rank == 0:
            report = " ".join(f"{n} {v:.4f}" for n, v in sorted(zip(names, sums.tolist())))
            print(f"epoch {epoch} {report}", flush=True)
            os.makedirs(out, exist_ok=True)
            torch.save({"model": model.module.state_dict(), "epoch": epoch}, os.path.join(out, "last.pt"))
        dist.barrier()

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
