import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from criterion import SetCriterion
from data import AerialTiles, collate
from model import TinyDETR


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--batch-size", type=int, default=2)
    p.add_argument("--tiles", type=int, default=256)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--num-classes", type=int, default=4)
    p.add_argument("--output", default="detr.pt")
    return p.parse_args()


def train_one_epoch(model, criterion, loader, optimizer, device):
    model.train()
    sums = torch.zeros(3, device=device)
    for images, targets in loader:
        images = images.to(device, non_blocking=True)
        targets = [{k: v.to(device) for k, v in t.items()} for t in targets]
        losses = criterion(model(images), targets)
        loss = losses["class"] + losses["box"]
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        sums += torch.stack([losses["class"].detach(), losses["box"].detach(), torch.ones((), device=device)])
    dist.all_reduce(sums)
    return (sums[:2] / sums[2]).tolist()


def main():
    args = get_args()
    use_cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if use_cuda else "gloo")
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if use_cuda else torch.device("cpu")
    if use_cuda:
        torch.cuda.set_device(device)

    torch.manual_seed(17)
    model = TinyDETR(args.num_classes).to(device)
    model = DDP(model, device_ids=[local_rank] if use_cuda else None)
    criterion = SetCriterion(args.num_classes).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)

    dataset = AerialTiles(args.tiles, num_classes=args.num_classes)
    sampler = DistributedSampler(dataset, shuffle=True, drop_last=True)
    loader = DataLoader(dataset, args.batch_size, sampler=sampler, collate_fn=collate, drop_last=True)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        cls, box = train_one_epoch(model, criterion, loader, optimizer, device)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} class {cls:.4f} box {box:.4f}", flush=True)
            torch.save({"model": model.module.state_dict(), "epoch": epoch}, args.output)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
