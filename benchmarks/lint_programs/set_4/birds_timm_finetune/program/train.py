import argparse
import os

import timm
import torch
import torch.distributed as dist
from timm.data import resolve_data_config
from timm.loss import LabelSmoothingCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import AverageMeter, ModelEmaV2, accuracy, random_seed
from torch.nn.parallel import DistributedDataParallel as DDP

from dist_env import init_env, reduce_mean
from loader import create_loader

parser = argparse.ArgumentParser()
parser.add_argument("data_dir")
parser.add_argument("--model", default="resnet50")
parser.add_argument("--num-classes", type=int, default=200)
parser.add_argument("--epochs", type=int, default=60)
parser.add_argument("--warmup-epochs", type=int, default=3)
parser.add_argument("-b", "--batch-size", type=int, default=64)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--weight-decay", type=float, default=0.05)
parser.add_argument("--smoothing", type=float, default=0.1)
parser.add_argument("--ema-decay", type=float, default=0.9998)
parser.add_argument("--seed", type=int, default=42)
parser.add_argument("--output", default="output")


def train_one_epoch(epoch, model, loader, optimizer, criterion, ema, env):
    model.train()
    losses = AverageMeter()
    for x, target in loader:
        x, target = x.to(env.device, non_blocking=True), target.to(env.device, non_blocking=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model.module)
        losses.update(loss.item(), x.size(0))
    mean = reduce_mean(torch.tensor(losses.avg, device=env.device), env)
    if env.primary:
        print(f"train {epoch} loss {mean.item():.4f} lr {optimizer.param_groups[0]['lr']:.2e}", flush=True)


@torch.no_grad()
def validate(model, loader, env):
    model.eval()
    sums = torch.zeros(2, device=env.device)
    for x, target in loader:
        x, target = x.to(env.device, non_blocking=True), target.to(env.device, non_blocking=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            acc1 = accuracy(model(x), target)[0]
        sums += torch.stack([acc1 * len(x), torch.tensor(float(len(x)), device=env.device)])
    dist.all_reduce(sums)
    return (sums[0] / sums[1]).item()


def main():
    args = parser.parse_args()
    env = init_env()
    random_seed(args.seed, env.rank)

    model = timm.create_model(args.model, pretrained=True, num_classes=args.num_classes).to(env.device)
    data_config = resolve_data_config(vars(args), model=model)
    model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=args.lr, weight_decay=args.weight_decay)
    model = DDP(model, device_ids=[env.local_rank])
    ema = ModelEmaV2(model.module, decay=args.ema_decay)
    scheduler = CosineLRScheduler(optimizer, t_initial=args.epochs, warmup_t=args.warmup_epochs, warmup_lr_init=1e-6)
    criterion = LabelSmoothingCrossEntropy(args.smoothing)
    train_loader = create_loader(args.data_dir, "train", env, data_config, args.batch_size, training=True)
    val_loader = create_loader(args.data_dir, "val", env, data_config, args.batch_size, training=False)

    best = 0.0
    for epoch in range(args.epochs):
        scheduler.step(epoch)
        train_loader.sampler.set_epoch(epoch)
        train_one_epoch(epoch, model, train_loader, optimizer, criterion, ema, env)
        acc1 = validate(ema.module, val_loader, env)
        if env.primary:
            print(f"val {epoch} acc@1 {acc1:.2f}", flush=True)
            if acc1 > best:
                os.makedirs(args.output, exist_ok=True)
                torch.save(ema.module.state_dict(), os.path.join(args.output, "model_best.pth.tar"))
        best = max(best, acc1)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
