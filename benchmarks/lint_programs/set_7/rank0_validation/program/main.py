import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from engine import Engine
from networks import resnet_small


def load_split(root, split, n, size):
    if root:
        blob = torch.load(os.path.join(root, f"{split}.pt"), map_location="cpu")
        return TensorDataset(blob["images"].float() / 255, blob["labels"].long())
    g = torch.Generator().manual_seed(0 if split == "train" else 1)
    labels = torch.randint(10, (n,), generator=g)
    images = torch.rand(n, 3, size, size, generator=g) * 0.5
    images[torch.arange(n), labels % 3] += 0.05 * labels.view(-1, 1, 1)
    return TensorDataset(images, labels)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="", help="folder with train.pt and val.pt")
    p.add_argument("--norm", default="batch", choices=["batch", "group"])
    p.add_argument("--width", type=int, default=64)
    p.add_argument("--size", type=int, default=32)
    p.add_argument("--samples", type=int, default=2048)
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--epochs", type=int, default=90)
    p.add_argument("--val-every", type=int, default=1)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--output", default="best.pt")
    cfg = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cpu")
    if cuda:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    torch.manual_seed(cfg.seed)

    train_set = load_split(cfg.data, "train", cfg.samples, cfg.size)
    val_set = load_split(cfg.data, "val", cfg.samples // 8, cfg.size)
    train_loader = DataLoader(
        train_set,
        batch_size=cfg.batch_size,
        sampler=DistributedSampler(train_set, shuffle=True, seed=cfg.seed),
        num_workers=cfg.workers,
        pin_memory=cuda,
        drop_last=True,
    )
    val_loader = DataLoader(val_set, batch_size=cfg.batch_size, num_workers=cfg.workers)

    net = resnet_small(cfg.width, 10, cfg.norm).to(device)
    model = DDP(net, device_ids=[device.index] if cuda else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9, weight_decay=5e-4)
    Engine(cfg, model, optimizer, train_loader, val_loader, device).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
