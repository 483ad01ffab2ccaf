import argparse
import math
from pathlib import Path

import torch
import torch.distributed as dist
import yaml
from torch.nn.parallel import DistributedDataParallel as DDP

import val as validate
from models.grid import GridDetector
from utils.general import (LOCAL_RANK, LOGGER, RANK, WORLD_SIZE, EarlyStopping, ModelEMA,
                           create_dataloader, de_parallel)
from utils.loss import compute_loss


def train(opt, device):
    save_dir = Path(opt.project)
    last, best = save_dir / "last.pt", save_dir / "best.pt"
    if RANK in {-1, 0}:
        save_dir.mkdir(parents=True, exist_ok=True)
    data = yaml.safe_load(Path(opt.data).read_text())
    root = Path(data["path"])
    torch.manual_seed(opt.seed + 1 + RANK)

    model = GridDetector(data["nc"]).to(device)
    ema = ModelEMA(model) if RANK in {-1, 0} else None

    train_loader = create_dataloader(str(root / data["train"]), opt.batch_size // WORLD_SIZE,
                                     LOCAL_RANK, opt.workers, augment=True, shuffle=True)
    if RANK in {-1, 0}:
        val_loader = create_dataloader(str(root / data["val"]), opt.batch_size // WORLD_SIZE * 2,
                                       -1, opt.workers)
    if RANK != -1:
        model = DDP(model, device_ids=[LOCAL_RANK], output_device=LOCAL_RANK)

    optimizer = torch.optim.SGD(model.parameters(), lr=opt.lr, momentum=0.937, nesterov=True,
                                weight_decay=5e-4)
    lf = lambda x: (1 - math.cos(x * math.pi / opt.epochs)) / 2 * (0.01 - 1) + 1
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=lf)
    scaler = torch.amp.GradScaler("cuda", enabled=opt.amp)
    stopper, stop = EarlyStopping(patience=opt.patience), False

    best_fitness = 0.0
    for epoch in range(opt.epochs):
        model.train()
        if RANK != -1:
            train_loader.sampler.set_epoch(epoch)
        mloss = torch.zeros(3, device=device)
        optimizer.zero_grad()
        for i, (imgs, targets) in enumerate(train_loader):
            imgs, targets = imgs.to(device, non_blocking=True), targets.to(device)
            with torch.autocast("cuda", enabled=opt.amp):
                pred = model(imgs)
            loss, items = compute_loss(pred.float(), targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            if ema:
                ema.update(model)
            mloss = (mloss * i + items) / (i + 1)
        scheduler.step()

        if RANK in {-1, 0}:
            fi, val_loss = validate.run(ema.ema, val_loader, device)
            stop = stopper(epoch=epoch, fitness=fi)
            LOGGER.info(f"{epoch}/{opt.epochs - 1} obj {mloss[0]:.4f} box {mloss[1]:.4f} "
                        f"cls {mloss[2]:.4f} val {val_loss:.4f} F1 {fi:.4f}")
            ckpt = {"epoch": epoch, "fitness": fi, "ema": ema.ema.state_dict(),
                    "model": de_parallel(model).state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(ckpt, last)
            if fi >= best_fitness:
                best_fitness = fi
                torch.save(ckpt, best)

        if stop:
            break

    LOGGER.info(f"Best F1 {best_fitness:.4f}, results saved to {save_dir}")


def parse_opt():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="data/parcels.yaml")
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--batch-size", type=int, default=16, help="total batch size for all GPUs")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--workers", type=int, default=8, help="per RANK in DDP mode")
    parser.add_argument("--patience", type=int, default=100, help="epochs without improvement")
    parser.add_argument("--project", default="runs/train")
    parser.add_argument("--no-amp", dest="amp", action="store_false")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main(opt):
    device = torch.device("cuda", 0)
    if LOCAL_RANK != -1:
        assert opt.batch_size % WORLD_SIZE == 0, "--batch-size must be a multiple of WORLD_SIZE"
        torch.cuda.set_device(LOCAL_RANK)
        device = torch.device("cuda", LOCAL_RANK)
        dist.init_process_group(backend="nccl")
    train(opt, device)
    if RANK != -1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main(parse_opt())
