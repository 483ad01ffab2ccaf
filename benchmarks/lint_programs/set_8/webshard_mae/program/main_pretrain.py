import argparse
import json
import math
import os

import torch
from torch.utils.data import DataLoader

import util.misc as misc
from models_mae import TinyMAE
from util.shards import ShardDataset


def get_args_parser():
    p = argparse.ArgumentParser("MAE pre-training", add_help=False)
    p.add_argument("--batch_size", default=16, type=int, help="per process")
    p.add_argument("--epochs", default=2, type=int)
    p.add_argument("--mask_ratio", default=0.75, type=float)
    p.add_argument("--blr", default=1.5e-3, type=float)
    p.add_argument("--weight_decay", default=0.05, type=float)
    p.add_argument("--data", default="wave-train-{000..012}")
    p.add_argument("--samples_per_shard", default=32, type=int)
    p.add_argument("--num_workers", default=0, type=int)
    p.add_argument("--seed", default=0, type=int)
    p.add_argument("--output_dir", default="./output_dir")
    return p


def train_one_epoch(model, loader, optimizer, device, epoch, args):
    model.train()
    metric_logger = misc.MetricLogger()
    for samples in metric_logger.log_every(loader, 5, f"Epoch: [{epoch}]"):
        samples = samples.to(device, non_blocking=True)
        loss = model(samples, args.mask_ratio)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        metric_logger.update(loss=loss, lr=optimizer.param_groups[0]["lr"])
    metric_logger.synchronize_between_processes()
    print("Averaged stats:", metric_logger)
    return {k: m.global_avg for k, m in metric_logger.meters.items()}


def main(args):
    misc.init_distributed_mode(args)
    device = misc.current_device()
    torch.manual_seed(args.seed + misc.get_rank())

    dataset = ShardDataset(args.data, args.samples_per_shard, seed=args.seed)
    loader = DataLoader(dataset, batch_size=args.batch_size, num_workers=args.num_workers, drop_last=True)

    model = TinyMAE().to(device)
    model_without_ddp = model
    if args.distributed:
        ids = [args.gpu] if device.type == "cuda" else None
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=ids)
        model_without_ddp = model.module

    lr = args.blr * args.batch_size * misc.get_world_size() / 32
    optimizer = torch.optim.AdamW(model_without_ddp.parameters(), lr=lr, betas=(0.9, 0.95),
                                  weight_decay=args.weight_decay)

    for epoch in range(args.epochs):
        dataset.set_epoch(epoch)
        for g in optimizer.param_groups:
            g["lr"] = lr * 0.5 * (1 + math.cos(math.pi * epoch / args.epochs))
        stats = train_one_epoch(model, loader, optimizer, device, epoch, args)
        if args.output_dir and misc.is_main_process():
            os.makedirs(args.output_dir, exist_ok=True)
            torch.save({"model": model_without_ddp.state_dict(), "epoch": epoch},
                       os.path.join(args.output_dir, f"checkpoint-{epoch}.pth"))
            with open(os.path.join(args.output_dir, "log.txt"), "a") as f:
                f.write(json.dumps({"epoch": epoch, **stats}) + "\n")
    if args.distributed:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(argparse.ArgumentParser("MAE pre-training", parents=[get_args_parser()]).parse_args())
