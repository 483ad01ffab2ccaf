import argparse

import deepspeed
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, Subset

from series import Windows
from trainer import Forecaster, Trainer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="load.npy")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--out", default="ckpt")
    parser.add_argument("--local_rank", type=int, default=-1)
    parser = deepspeed.add_config_arguments(parser)
    args = parser.parse_args()
    args.deepspeed_config = args.deepspeed_config or "ds_config.json"

    deepspeed.init_distributed("nccl" if torch.cuda.is_available() else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)

    train = Windows(args.data, part="train")
    val = Windows(args.data, part="val")
    sampler = DistributedSampler(train, shuffle=True, drop_last=True)
    model = Forecaster()
    engine, _, _, _ = deepspeed.initialize(
        args=args, model=model, optimizer=torch.optim.AdamW(model.parameters(), lr=args.lr))
    batch = engine.train_micro_batch_size_per_gpu()
    train_loader = DataLoader(train, batch, sampler=sampler, drop_last=True, num_workers=2)
    val_loader = DataLoader(Subset(val, range(rank, len(val), world)), 4 * batch)

    Trainer(engine, train_loader, val_loader, sampler, args.out).fit(args.epochs)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
