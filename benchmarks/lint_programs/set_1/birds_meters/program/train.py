import argparse
import os

import torch
import torch.utils.data
from torch import nn
from torchvision import datasets, models
from torchvision.transforms import v2 as T

import utils


def build_data(args):
    norm = [T.ToImage(), T.ToDtype(torch.float32, scale=True),
            T.Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))]
    train_set = datasets.ImageFolder(
        os.path.join(args.data_path, "train"),
        T.Compose([T.RandomResizedCrop(args.crop), T.RandomHorizontalFlip(), T.TrivialAugmentWide(), *norm]))
    val_set = datasets.ImageFolder(
        os.path.join(args.data_path, "val"),
        T.Compose([T.Resize(args.crop * 8 // 7), T.CenterCrop(args.crop), *norm]))

    sampler = torch.utils.data.distributed.DistributedSampler(train_set)
    train_loader = torch.utils.data.DataLoader(
        train_set, batch_size=args.batch_size, sampler=sampler, num_workers=args.workers,
        pin_memory=True, drop_last=True)
    mine = torch.utils.data.Subset(val_set, range(args.rank, len(val_set), args.world_size))
    val_loader = torch.utils.data.DataLoader(mine, batch_size=args.batch_size, num_workers=args.workers)
    return train_loader, val_loader, sampler, len(train_set.classes)


def train_one_epoch(model, criterion, optimizer, loader, scaler, device, epoch, args):
    model.train()
    board = utils.MeterBoard(device).add("loss", "acc1")
    for i, (image, target) in enumerate(loader):
        image, target = image.to(device, non_blocking=True), target.to(device, non_blocking=True)
        with torch.autocast("cuda", enabled=args.amp):
            output = model(image)
            loss = criterion(output, target)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

        acc1, = utils.accuracy(output, target)
        board["loss"].update(loss.item(), len(image))
        board["acc1"].update(acc1.item(), len(image))
        if i % args.print_freq == 0 and utils.is_main_process():
            print(f"Epoch [{epoch}] {i}/{len(loader)}  {board.progress()}", flush=True)
    line = board.summary()
    if utils.is_main_process():
        print(f"Epoch [{epoch}] train: {line}", flush=True)


@torch.inference_mode()
def evaluate(net, criterion, loader, device):
    net.eval()
    board = utils.MeterBoard(device).add("loss", "acc1", "acc5")
    for image, target in loader:
        image, target = image.to(device, non_blocking=True), target.to(device, non_blocking=True)
        output = net(image)
        acc1, acc5 = utils.accuracy(output, target, topk=(1, 5))
        board["loss"].update(criterion(output, target).item(), len(image))
        board["acc1"].update(acc1.item(), len(image))
        board["acc5"].update(acc5.item(), len(image))
    return board


def main(args):
    utils.init_distributed(args)
    device = torch.device("cuda", args.gpu)
    train_loader, val_loader, sampler, num_classes = build_data(args)

    net = models.convnext_tiny(weights=None, num_classes=num_classes).to(device)
    model = nn.parallel.DistributedDataParallel(net, device_ids=[args.gpu])
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    scaler = torch.amp.GradScaler("cuda", enabled=args.amp)

    start = 0
    if args.resume:
        state = torch.load(args.resume, map_location="cpu")
        net.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        scaler.load_state_dict(state["scaler"])
        start = state["epoch"] + 1

    for epoch in range(start, args.epochs):
        sampler.set_epoch(epoch)
        train_one_epoch(model, criterion, optimizer, train_loader, scaler, device, epoch, args)
        scheduler.step()
        val = evaluate(net, criterion, val_loader, device)
        if utils.is_main_process():
            print(f"Epoch [{epoch}] val: {val.summary()}", flush=True)
            os.makedirs(args.output_dir, exist_ok=True)
            torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(),
                        "scheduler": scheduler.state_dict(), "scaler": scaler.state_dict(), "epoch": epoch},
                       os.path.join(args.output_dir, "checkpoint.pth"))

    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Fine-grained bird classification")
    parser.add_argument("--data-path", default="/datasets/nabirds")
    parser.add_argument("--output-dir", default="./birds")
    parser.add_argument("-b", "--batch-size", default=64, type=int, help="images per gpu")
    parser.add_argument("-j", "--workers", default=8, type=int)
    parser.add_argument("--epochs", default=100, type=int)
    parser.add_argument("--lr", default=1e-3, type=float)
    parser.add_argument("--crop", default=224, type=int)
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--resume", default="")
    parser.add_argument("--print-freq", default=50, type=int)
    main(parser.parse_args())
