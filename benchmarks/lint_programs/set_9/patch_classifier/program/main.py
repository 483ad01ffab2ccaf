import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
import yaml
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from checkpoint import Checkpointer
from net import ConvMixer, synthetic_patches


def set_lr(optimizer, cfg, epoch):
    factor = 1.0 if epoch < 0.6 * cfg["epochs"] else 0.1
    for group in optimizer.param_groups:
        group["lr"] = cfg["lr"] * factor


@torch.no_grad()
def validate(model, x, y, device):
    model.eval()
    rank, world = dist.get_rank(), dist.get_world_size()
    logits = model(x[rank::world].to(device))
    stats = torch.tensor(
        [(logits.argmax(1).cpu() == y[rank::world]).sum().item(), logits.size(0)],
        dtype=torch.float64, device=device,
    )
    dist.all_reduce(stats)
    model.train()
    return (stats[0] / stats[1]).item()


def run(cfg, resume, device, local_rank):
    torch.manual_seed(cfg["seed"])
    x, y = synthetic_patches(512, seed=1)
    vx, vy = synthetic_patches(130, seed=2)
    train_set = TensorDataset(x, y)
    sampler = DistributedSampler(train_set, seed=cfg["seed"], drop_last=True)
    loader = DataLoader(train_set, cfg["batch_size"], sampler=sampler, drop_last=True)

    model = ConvMixer().to(device)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=cfg["lr"], weight_decay=cfg["weight_decay"]
    )
    checkpointer = Checkpointer(cfg["run_dir"], device)
    first_epoch = checkpointer.restore(model, optimizer) if resume else 0
    ddp = DDP(model, device_ids=[local_rank] if device.type == "cuda" else None)

    for epoch in range(first_epoch, cfg["epochs"]):
        sampler.set_epoch(epoch)
        set_lr(optimizer, cfg, epoch)
        for images, labels in loader:
            loss = F.cross_entropy(ddp(images.to(device)), labels.to(device))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        acc = validate(model, vx, vy, device)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} loss {loss.item():.4f} val_acc {acc:.3f}", flush=True)
        checkpointer.save(epoch, model, optimizer)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.yaml")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--epochs", type=int)
    args = parser.parse_args()
    with open(args.config) as f:
        cfg = yaml.safe_load(f)
    if args.epochs is not None:
        cfg["epochs"] = args.epochs

    local_rank = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        device = torch.device("cuda", local_rank)
        torch.cuda.set_device(device)
        dist.init_process_group("nccl")
    else:
        device = torch.device("cpu")
        dist.init_process_group("gloo")
    run(cfg, args.resume, device, local_rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
