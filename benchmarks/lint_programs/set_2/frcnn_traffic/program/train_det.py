import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.models.detection import fasterrcnn_resnet50_fpn_v2

from dataset import TrafficSigns, collate


def train_one_epoch(model, optimizer, loader, device, epoch, print_freq=50):
    model.train()
    running = 0.0
    n = 0
    for it, (images, targets) in enumerate(loader):
        images = [im.to(device, non_blocking=True) for im in images]
        targets = [{k: v.to(device, non_blocking=True) for k, v in t.items()} for t in targets]

        optimizer.zero_grad(set_to_none=True)
        try:
            loss_dict = model(images, targets)
            loss = sum(loss_dict.values())
            loss.backward()
        except torch.cuda.OutOfMemoryError:
            shapes = [tuple(im.shape[-2:]) for im in images]
            print(f"[rank {dist.get_rank()}] out of memory at it {it}, image sizes {shapes}")
            loss_dict = loss = None
            torch.cuda.empty_cache()
            continue

        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()

        running += loss.item()
        n += 1
        if it % print_freq == 0 and dist.get_rank() == 0:
            parts = " ".join(f"{k.replace('loss_', '')}={v.item():.3f}" for k, v in loss_dict.items())
            print(f"ep {epoch} [{it}/{len(loader)}] loss={running / max(n, 1):.4f} {parts}")


def get_args():
    p = argparse.ArgumentParser("Faster R-CNN on traffic signs")
    p.add_argument("root")
    p.add_argument("--num-classes", type=int, default=44)
    p.add_argument("--epochs", type=int, default=26)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--lr", type=float, default=0.02)
    p.add_argument("--output", default="runs/frcnn")
    return p.parse_args()


def main():
    args = get_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    device = torch.device(f"cuda:{local_rank}")
    dist.init_process_group(backend="nccl")

    train_set = TrafficSigns(args.root, "train")
    sampler = DistributedSampler(train_set)
    loader = DataLoader(train_set, batch_size=args.batch, sampler=sampler, num_workers=6,
                        collate_fn=collate, pin_memory=True)

    model = fasterrcnn_resnet50_fpn_v2(weights=None, num_classes=args.num_classes)
    model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model).to(device)
    model = DistributedDataParallel(model, device_ids=[local_rank])

    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [16, 22])

    if dist.get_rank() == 0:
        os.makedirs(args.output, exist_ok=True)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        train_one_epoch(model, optimizer, loader, device, epoch)
        scheduler.step()
        if dist.get_rank() == 0:
            torch.save({"model": model.module.state_dict(), "epoch": epoch},
                       os.path.join(args.output, f"model_{epoch:02d}.pth"))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
