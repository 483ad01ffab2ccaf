import argparse
import math
import os

import torch
import torch.nn as nn
import torchvision.datasets as datasets
import torchvision.models as models

import moco
from moco import comm
from moco.meters import AverageMeter, accuracy

parser = argparse.ArgumentParser(description="Unsupervised pre-training")
parser.add_argument("--data", metavar="DIR", required=True)
parser.add_argument("-a", "--arch", default="resnet50")
parser.add_argument("-j", "--workers", default=8, type=int)
parser.add_argument("--epochs", default=200, type=int)
parser.add_argument("-b", "--batch-size", default=256, type=int, help="total batch size of all GPUs")
parser.add_argument("--lr", default=0.03, type=float)
parser.add_argument("--schedule", default=[120, 160], nargs="*", type=int)
parser.add_argument("--momentum", default=0.9, type=float)
parser.add_argument("--wd", default=1e-4, type=float)
parser.add_argument("-p", "--print-freq", default=20, type=int)
parser.add_argument("--resume", default="", type=str)
parser.add_argument("--out", default="ckpt")
parser.add_argument("--seed", default=11, type=int)
parser.add_argument("--moco-dim", default=128, type=int)
parser.add_argument("--moco-k", default=65536, type=int)
parser.add_argument("--moco-m", default=0.999, type=float)
parser.add_argument("--moco-t", default=0.2, type=float)
parser.add_argument("--mlp", action="store_true")
parser.add_argument("--cos", action="store_true")


def main():
    args = parser.parse_args()
    args.rank, args.world_size, args.gpu = comm.setup(args.seed)
    torch.backends.cudnn.benchmark = True
    os.makedirs(args.out, exist_ok=True)

    model = moco.MoCo(models.__dict__[args.arch], args.moco_dim, args.moco_k,
                      args.moco_m, args.moco_t, args.mlp).cuda(args.gpu)
    model = nn.parallel.DistributedDataParallel(model, device_ids=[args.gpu])
    criterion = nn.CrossEntropyLoss().cuda(args.gpu)
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=args.momentum,
                                weight_decay=args.wd)

    start_epoch = 0
    if args.resume:
        state = torch.load(args.resume, map_location=f"cuda:{args.gpu}")
        model.load_state_dict(state["state_dict"])
        optimizer.load_state_dict(state["optimizer"])
        start_epoch = state["epoch"]

    train_set = datasets.ImageFolder(args.data, moco.TwoCrops(moco.build_augmentation()))
    sampler = torch.utils.data.distributed.DistributedSampler(train_set)
    loader = torch.utils.data.DataLoader(
        train_set, batch_size=args.batch_size // args.world_size, sampler=sampler,
        num_workers=args.workers, pin_memory=True, drop_last=True)

    for epoch in range(start_epoch, args.epochs):
        sampler.set_epoch(epoch)
        adjust_learning_rate(optimizer, epoch, args)
        train(loader, model, criterion, optimizer, epoch, args)
        if args.rank == 0 and (epoch + 1) % 10 == 0:
            torch.save({"epoch": epoch + 1, "arch": args.arch, "state_dict": model.state_dict(),
                        "optimizer": optimizer.state_dict()},
                       os.path.join(args.out, f"checkpoint_{epoch:04d}.pth.tar"))
    torch.distributed.destroy_process_group()


def train(loader, model, criterion, optimizer, epoch, args):
    losses = AverageMeter("Loss", ":.4e")
    top1 = AverageMeter("Acc@1", ":6.2f")
    top5 = AverageMeter("Acc@5", ":6.2f")
    model.train()
    for i, (images, _) in enumerate(loader):
        im_q = images[0].cuda(args.gpu, non_blocking=True)
        im_k = images[1].cuda(args.gpu, non_blocking=True)
        output, target = model(im_q=im_q, im_k=im_k)
        loss = criterion(output, target)

        acc1, acc5 = accuracy(output, target, topk=(1, 5))
        losses.update(loss.item(), im_q.size(0))
        top1.update(acc1, im_q.size(0))
        top5.update(acc5, im_q.size(0))

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if args.rank == 0 and i % args.print_freq == 0:
            print(f"Epoch [{epoch}][{i}/{len(loader)}]", losses, top1, top5, flush=True)


def adjust_learning_rate(optimizer, epoch, args):
    lr = args.lr
    if args.cos:
        lr *= 0.5 * (1.0 + math.cos(math.pi * epoch / args.epochs))
    else:
        for milestone in args.schedule:
            lr *= 0.1 if epoch >= milestone else 1.0
    for group in optimizer.param_groups:
        group["lr"] = lr


if __name__ == "__main__":
    main()
