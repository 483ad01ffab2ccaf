import argparse
import os
import tomllib

import torch
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset
from torch.utils.data.distributed import DistributedSampler

from engine import comm, hooks
from engine.checkpoint import Checkpointer
from engine.train_loop import SimpleTrainer
from scenes import Scenes, build_model


def endless(loader, sampler):
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


@torch.no_grad()
def pixel_accuracy(model, loader, device):
    net = model.module
    net.eval()
    counts = torch.zeros(2, device=device)
    for images, masks in loader:
        images, masks = images.to(device), masks.to(device)
        hits = (net(images).argmax(1) == masks).sum()
        counts += torch.stack([hits, torch.tensor(masks.numel(), device=device)])
    dist.all_reduce(counts)
    net.train()
    return (counts[0] / counts[1]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config-file", default="configs/base.toml")
    args = parser.parse_args()
    with open(args.config_file, "rb") as f:
        cfg = tomllib.load(f)

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cpu")
    if cuda:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    torch.manual_seed(cfg["seed"])

    train, val = Scenes(cfg["train_images"], seed=1), Scenes(cfg["val_images"], seed=2)
    sampler = DistributedSampler(train, seed=cfg["seed"], drop_last=True)
    loader = DataLoader(train, cfg["batch_per_rank"], sampler=sampler, drop_last=True)
    part = Subset(val, range(comm.get_rank(), len(val), comm.get_world_size()))
    val_loader = DataLoader(part, 32)

    model = build_model(cfg["width"]).to(device)
    model = DistributedDataParallel(model, device_ids=[device.index] if cuda else None)
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), optimizer_class=torch.optim.AdamW, lr=cfg["lr"]
    )
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cfg["max_iter"])
    checkpointer = Checkpointer(model, cfg["output_dir"], optimizer, scheduler=scheduler)

    trainer = SimpleTrainer(model, endless(loader, sampler), optimizer, device)
    trainer.register_hooks([
        hooks.LRScheduler(scheduler),
        hooks.PeriodicWriter(cfg["log_period"]),
        hooks.EvalHook(cfg["eval_period"], lambda: pixel_accuracy(model, val_loader, device)),
        hooks.PeriodicCheckpointer(checkpointer, cfg["checkpoint_period"]),
    ])
    trainer.train(cfg["max_iter"])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
