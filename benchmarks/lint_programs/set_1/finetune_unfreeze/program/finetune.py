import argparse
import logging
import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, Subset
from torchvision import datasets, transforms

from networks import TransferNet

_logger = logging.getLogger("finetune")

parser = argparse.ArgumentParser(description="Transfer learning on an image folder")
parser.add_argument("data_dir", metavar="DIR")
parser.add_argument("--arch", default="resnet50")
parser.add_argument("--weights", default="", help="state dict of the trunk")
parser.add_argument("--output", default="./output", type=Path)
parser.add_argument("-b", "--batch-size", type=int, default=64, help="per device")
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--thaw-epoch", type=int, default=3, help="epoch from which the trunk is trained, too")
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--trunk-lr-factor", type=float, default=0.1)
parser.add_argument("--weight-decay", type=float, default=0.02)
parser.add_argument("-j", "--workers", type=int, default=8)


def create_loaders(args, rank, world_size):
    normalize = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    dataset_train = datasets.ImageFolder(os.path.join(args.data_dir, "train"), transforms.Compose([
        transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(), normalize]))
    dataset_eval = datasets.ImageFolder(os.path.join(args.data_dir, "val"), transforms.Compose([
        transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), normalize]))
    loader_train = DataLoader(
        dataset_train, args.batch_size, sampler=DistributedSampler(dataset_train, world_size, rank),
        num_workers=args.workers, pin_memory=True, drop_last=True)
    loader_eval = DataLoader(
        Subset(dataset_eval, range(rank, len(dataset_eval), world_size)), args.batch_size,
        num_workers=args.workers, pin_memory=True)
    return loader_train, loader_eval, dataset_train.classes


def train_one_epoch(epoch, model, loader, optimizer, loss_fn, device):
    model.train()
    loader.sampler.set_epoch(epoch)
    for batch_idx, (inp, target) in enumerate(loader):
        inp, target = inp.to(device, non_blocking=True), target.to(device, non_blocking=True)
        with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
            loss = loss_fn(model(inp), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if batch_idx % 50 == 0:
            _logger.info("train: %d [%4d/%d] loss (rank 0) %.4f", epoch, batch_idx, len(loader), loss.item())


@torch.no_grad()
def validate(model, loader, loss_fn, device):
    model.eval()
    metrics = torch.zeros(3, device=device)
    for inp, target in loader:
        inp, target = inp.to(device, non_blocking=True), target.to(device, non_blocking=True)
        out = model(inp)
        metrics[0] += loss_fn(out, target) * inp.size(0)
        metrics[1] += (out.argmax(1) == target).sum()
        metrics[2] += inp.size(0)
    dist.all_reduce(metrics)
    return {"loss": (metrics[0] / metrics[2]).item(), "top1": (100 * metrics[1] / metrics[2]).item()}


@record
def main():
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.ERROR)
    if rank == 0:
        args.output.mkdir(parents=True, exist_ok=True)

    loader_train, loader_eval, classes = create_loaders(args, rank, world_size)
    net = TransferNet(args.arch, len(classes), args.weights or None)
    if args.thaw_epoch > 0:
        net.freeze_trunk()
    net.to(device)
    optimizer = torch.optim.AdamW(net.param_groups(args.lr, args.trunk_lr_factor), weight_decay=args.weight_decay)
    lr_scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    loss_fn = nn.CrossEntropyLoss()
    model = DDP(net, device_ids=[local_rank])

    best_top1 = 0.0
    for epoch in range(args.epochs):
        if epoch == args.thaw_epoch and net.trunk_frozen:
            net.thaw_trunk()
            _logger.info("epoch %d: trunk is trained from here on", epoch)
        train_one_epoch(epoch, model, loader_train, optimizer, loss_fn, device)
        lr_scheduler.step()
        metrics = validate(net, loader_eval, loss_fn, device)
        _logger.info("eval: %d %s", epoch, metrics)
        if rank == 0 and metrics["top1"] > best_top1:
            best_top1 = metrics["top1"]
            torch.save({"state_dict": net.state_dict(), "classes": classes, "epoch": epoch, **metrics},
                       args.output / "model_best.pth")

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
