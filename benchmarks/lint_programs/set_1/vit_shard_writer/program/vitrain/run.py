import argparse
import logging
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
import torchvision
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.transforms import v2

from .state import restore, snapshot
from .writer import ShardWriter, latest

logger = logging.getLogger("vitrain")


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        self.device = torch.device("cuda", torch.cuda.current_device())
        self.loader = self._loader("train", train=True)
        self.val_loader = self._loader("val", train=False)
        torch.manual_seed(args.seed)
        self.model = self._model()
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=args.lr, weight_decay=0.1, betas=(0.9, 0.99)
        )
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, args.lr, total_steps=args.epochs * len(self.loader)
        )
        self.writer = ShardWriter(args.ckpt)
        self.epoch = self.step = 0
        path = latest(args.ckpt, self.rank)
        if path is not None:
            saved = torch.load(path, map_location="cpu", weights_only=False)
            self.epoch, self.step = restore(saved, self.model, self.optimizer, self.scheduler)
            logger.info("resumed at epoch %d step %d", self.epoch, self.step)

    def _loader(self, split, train):
        size = [v2.RandomResizedCrop(224), v2.RandomHorizontalFlip()] if train else [v2.Resize(256), v2.CenterCrop(224)]
        tf = v2.Compose([
            v2.ToImage(), *size, v2.ToDtype(torch.float32, scale=True),
            v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ])
        ds = torchvision.datasets.ImageFolder(os.path.join(self.args.data, split), tf)
        sampler = DistributedSampler(ds, shuffle=train, drop_last=train, seed=self.args.seed)
        return DataLoader(ds, self.args.batch, sampler=sampler, num_workers=8, pin_memory=True, drop_last=train)

    def _model(self):
        model = torchvision.models.vit_l_16(num_classes=self.args.classes).to(self.device)
        mp = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for block in model.encoder.layers:
            fully_shard(block, mp_policy=mp)
        fully_shard(model, mp_policy=mp)
        return model

    def train_epoch(self):
        self.model.train()
        self.loader.sampler.set_epoch(self.epoch)
        for images, target in self.loader:
            images = images.to(self.device, non_blocking=True)
            target = target.to(self.device, non_blocking=True)
            loss = F.cross_entropy(self.model(images).float(), target, label_smoothing=0.1)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.scheduler.step()
            self.step += 1
            if self.step % 50 == 0 and self.rank == 0:
                logger.info("epoch %d step %d loss %.3f", self.epoch, self.step, loss.item())

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        hits = torch.zeros(2, device=self.device)
        for images, target in self.val_loader:
            guess = self.model(images.to(self.device)).argmax(1)
            hits[0] += (guess == target.to(self.device)).sum()
            hits[1] += len(target)
        dist.all_reduce(hits)
        return (hits[0] / hits[1]).item()

    def fit(self):
        while self.epoch < self.args.epochs:
            self.train_epoch()
            self.epoch += 1
            state = snapshot(self.model, self.optimizer, self.scheduler, self.epoch, self.step)
            self.writer.submit(self.step, state)
            acc = self.validate()
            if self.rank == 0:
                logger.info("epoch %d accuracy %.2f%%", self.epoch, 100 * acc)
        self.writer.close()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--ckpt", required=True)
    p.add_argument("--classes", type=int, default=1000)
    p.add_argument("--epochs", type=int, default=90)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()

    logging.basicConfig(level=logging.INFO)
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    Trainer(args).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
