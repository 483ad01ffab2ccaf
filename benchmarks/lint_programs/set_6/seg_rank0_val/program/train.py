import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from engine import mean_iou, train_epoch
from segdata import Shapes


def conv(cin, cout, dilation=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=dilation, dilation=dilation, bias=False), nn.BatchNorm2d(cout), nn.ReLU()
    )


class DilatedNet(nn.Module):
    def __init__(self, classes, width=24):
        super().__init__()
        self.features = nn.Sequential(conv(3, width), conv(width, width, 2), conv(width, width, 4))
        self.classifier = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        return self.classifier(self.features(x))


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        self.device = torch.device("cuda", args.local_rank) if torch.cuda.is_available() else torch.device("cpu")
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        torch.manual_seed(args.seed)
        net = DilatedNet(args.classes).to(self.device)
        ids = [args.local_rank] if self.device.type == "cuda" else None
        self.model = DistributedDataParallel(net, device_ids=ids)

        train = Shapes(args.train_size, classes=args.classes)
        self.sampler = DistributedSampler(train, drop_last=True)
        self.train_loader = DataLoader(train, args.batch_size, sampler=self.sampler, drop_last=True)
        self.val_loader = DataLoader(Shapes(args.val_size, classes=args.classes, seed=10**6), args.batch_size)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
        self.scheduler = torch.optim.lr_scheduler.PolynomialLR(
            self.optimizer, total_iters=args.epochs * len(self.train_loader), power=0.9
        )
        self.best = 0.0

    def save(self, name, epoch, score):
        state = {"model": self.model.module.state_dict(), "epoch": epoch, "miou": score}
        torch.save(state, os.path.join(self.args.output_dir, name))

    def fit(self):
        for epoch in range(self.args.epochs):
            self.sampler.set_epoch(epoch)
            loss = train_epoch(self.model, self.train_loader, self.optimizer, self.scheduler, self.device)
            if self.rank == 0 and (epoch + 1) % self.args.val_every == 0:
                score = mean_iou(self.model, self.val_loader, self.args.classes, self.device)
                print(f"[{epoch}] loss {float(loss):.4f} mIoU {score:.4f}", flush=True)
                if score > self.best:
                    self.best = score
                    self.save("best.pt", epoch, score)
                self.save("last.pt", epoch, score)
            dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--val-every", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--train-size", type=int, default=2000)
    parser.add_argument("--val-size", type=int, default=200)
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output-dir", default="runs/seg")
    args = parser.parse_args()
    args.local_rank = int(os.environ.get("LOCAL_RANK", 0))
    os.makedirs(args.output_dir, exist_ok=True)
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    Trainer(args).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
