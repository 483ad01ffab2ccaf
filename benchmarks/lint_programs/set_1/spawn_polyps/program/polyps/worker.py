import copy
import json
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from .data import eval_loader, train_loader
from .model import SmallUNet
from .scores import dice_score, seg_loss


def fit(net, ddp, args, rank, device):
    train, val = train_loader(args, rank), eval_loader(args, rank, "val")
    optimizer = torch.optim.AdamW(ddp.parameters(), lr=args.lr, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    best_dice, best_state = -1.0, None

    for epoch in range(args.epochs):
        train.sampler.set_epoch(epoch)
        ddp.train()
        for x, y in train:
            loss = seg_loss(ddp(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()

        dice = dice_score(net, val, device)
        if rank == 0:
            print(f"epoch {epoch:3d}  val dice {dice:.4f}", flush=True)
            if dice > best_dice:
                best_dice = dice
                best_state = copy.deepcopy(net.state_dict())
    return best_dice, best_state


def run(rank, args):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=args.world_size)
    torch.manual_seed(17 + rank)
    device = torch.device("cuda", rank)

    net = SmallUNet(args.width).to(device)
    ddp = DistributedDataParallel(net, device_ids=[rank])
    best_dice, best_state = fit(net, ddp, args, rank, device)

    path = os.path.join(args.run_dir, "best.pt")
    if rank == 0:
        torch.save({"model": best_state, "dice": best_dice, "args": vars(args)}, path)

    checkpoint = torch.load(path, map_location=device)
    net.load_state_dict(checkpoint["model"])
    test_dice = dice_score(net, eval_loader(args, rank, "test"), device)
    if rank == 0:
        print(f"test dice {test_dice:.4f} (val {checkpoint['dice']:.4f})")
        with open(os.path.join(args.run_dir, "test.json"), "w") as f:
            json.dump({"test_dice": test_dice, "val_dice": checkpoint["dice"]}, f)
    dist.destroy_process_group()
