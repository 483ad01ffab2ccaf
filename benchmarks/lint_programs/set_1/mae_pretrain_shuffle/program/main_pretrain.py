import argparse
import json
from pathlib import Path

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler

import util.misc as misc
from models_mae import MaskedAutoencoderViT
from util.lr_sched import adjust_learning_rate
from util.tiles import TileFolder


def get_args_parser():
    parser = argparse.ArgumentParser("MAE pre-training", add_help=True)
    parser.add_argument("--batch_size", default=64, type=int, help="per GPU")
    parser.add_argument("--epochs", default=400, type=int)
    parser.add_argument("--warmup_epochs", default=40, type=int)
    parser.add_argument("--input_size", default=128, type=int)
    parser.add_argument("--mask_ratio", default=0.75, type=float)
    parser.add_argument("--blr", default=1e-3, type=float)
    parser.add_argument("--min_lr", default=0.0, type=float)
    parser.add_argument("--weight_decay", default=0.05, type=float)
    parser.add_argument("--data_path", required=True)
    parser.add_argument("--output_dir", default="./output_dir")
    parser.add_argument("--resume", default="")
    parser.add_argument("--start_epoch", default=0, type=int)
    parser.add_argument("--save_every", default=20, type=int)
    parser.add_argument("--seed", default=0, type=int)
    parser.add_argument("--num_workers", default=10, type=int)
    return parser


def train_one_epoch(model, data_loader, optimizer, device, epoch, args):
    model.train()
    metric_logger = misc.MetricLogger()
    for it, samples in enumerate(metric_logger.log_every(data_loader, 20, f"Epoch: [{epoch}]")):
        lr = adjust_learning_rate(optimizer, it / len(data_loader) + epoch, args)
        samples = samples.to(device, non_blocking=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(samples, mask_ratio=args.mask_ratio)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        metric_logger.update(loss=loss.detach(), lr=lr)
    metric_logger.synchronize_between_processes()
    return {k: m.global_avg for k, m in metric_logger.meters.items()}


def main(args):
    misc.init_distributed_mode(args)
    device = torch.device("cuda", args.gpu)
    torch.manual_seed(args.seed + misc.get_rank())

    dataset_train = TileFolder(args.data_path, args.input_size)
    if args.distributed:
        sampler_train = DistributedSampler(
            dataset_train, num_replicas=misc.get_world_size(), rank=misc.get_rank(), shuffle=True)
    else:
        sampler_train = RandomSampler(dataset_train)
    data_loader_train = DataLoader(
        dataset_train, sampler=sampler_train, batch_size=args.batch_size,
        num_workers=args.num_workers, pin_memory=True, drop_last=True)

    model = MaskedAutoencoderViT(img_size=args.input_size).to(device)
    model_without_ddp = model
    args.lr = args.blr * args.batch_size * misc.get_world_size() / 256
    if args.distributed:
        model = DistributedDataParallel(model, device_ids=[args.gpu])
        model_without_ddp = model.module

    optimizer = torch.optim.AdamW(model_without_ddp.parameters(), lr=args.lr,
                                  betas=(0.9, 0.95), weight_decay=args.weight_decay)
    misc.load_model(args, model_without_ddp, optimizer)

    print(f"Start training for {args.epochs} epochs, lr {args.lr:.2e}")
    for epoch in range(args.start_epoch, args.epochs):
        train_stats = train_one_epoch(model, data_loader_train, optimizer, device, epoch, args)
        if args.output_dir and (epoch % args.save_every == 0 or epoch + 1 == args.epochs):
            misc.save_model(args, epoch, model_without_ddp, optimizer)
        if args.output_dir and misc.is_main_process():
            with open(Path(args.output_dir) / "log.txt", "a") as f:
                f.write(json.dumps({**train_stats, "epoch": epoch}) + "\n")

    if args.distributed:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    args = get_args_parser().parse_args()
    if args.output_dir:
        Path(args.output_dir).mkdir(parents=True, exist_ok=True)
    main(args)
