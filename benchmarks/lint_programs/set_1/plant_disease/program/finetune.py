import json
import sys
from pathlib import Path
from types import SimpleNamespace

import torch
import torch.nn as nn
import yaml
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.utils import set_seed
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

from recall import ClassCounts

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def make_loader(cfg, split):
    train = split == "train"
    if train:
        tfm = transforms.Compose([
            transforms.RandomResizedCrop(cfg.image_size, scale=(0.5, 1.0)),
            transforms.RandomHorizontalFlip(),
            transforms.ColorJitter(0.2, 0.2, 0.2),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ])
    else:
        tfm = transforms.Compose([
            transforms.Resize(int(cfg.image_size * 1.14)),
            transforms.CenterCrop(cfg.image_size),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ])
    ds = datasets.ImageFolder(str(Path(cfg.root) / split), tfm)
    return DataLoader(
        ds,
        batch_size=cfg.batch_size,
        shuffle=train,
        drop_last=train,
        num_workers=cfg.workers,
        pin_memory=True,
    )


def build_model(cfg):
    net = models.convnext_tiny(weights="IMAGENET1K_V1")
    net.classifier[2] = nn.Linear(net.classifier[2].in_features, cfg.num_classes)
    return net


class Engine:
    def __init__(self, cfg):
        self.cfg = cfg
        self.acc = Accelerator(
            mixed_precision="bf16",
            kwargs_handlers=[DistributedDataParallelKwargs(gradient_as_bucket_view=True)],
        )
        set_seed(cfg.seed, device_specific=True)
        self.out = Path(cfg.out)
        if self.acc.is_main_process:
            self.out.mkdir(parents=True, exist_ok=True)

        with self.acc.local_main_process_first():
            model = build_model(cfg)
        opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
        self.model, self.opt, self.train_dl, self.val_dl = self.acc.prepare(
            model, opt, make_loader(cfg, "train"), make_loader(cfg, "val")
        )
        # one scheduler step per epoch, left outside of prepare on purpose
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=cfg.epochs)
        self.loss_fn = nn.CrossEntropyLoss(label_smoothing=cfg.label_smoothing)
        self.history = []

    def train_epoch(self):
        self.model.train()
        running = torch.zeros(2, device=self.acc.device)
        for images, targets in self.train_dl:
            self.opt.zero_grad(set_to_none=True)
            with self.acc.autocast():
                loss = self.loss_fn(self.model(images), targets)
            self.acc.backward(loss)
            self.acc.clip_grad_norm_(self.model.parameters(), 1.0)
            self.opt.step()
            running += torch.stack([loss.detach() * len(targets), loss.new_tensor(len(targets))])
        total, n = self.acc.reduce(running, reduction="sum").tolist()
        return total / n

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        counts = ClassCounts(self.cfg.num_classes)
        for images, targets in self.val_dl:
            with self.acc.autocast():
                logits = self.model(images)
            preds, targets = self.acc.gather((logits.argmax(1), targets))
            counts.update(preds.cpu(), targets.cpu())
        return counts.summary()

    def save(self, name):
        self.acc.wait_for_everyone()
        if self.acc.is_main_process:
            self.acc.save(self.acc.unwrap_model(self.model).state_dict(), self.out / name)

    def fit(self):
        best = 0.0
        for epoch in range(self.cfg.epochs):
            loss = self.train_epoch()
            val = self.validate()
            self.sched.step()
            self.history.append({"epoch": epoch, "loss": loss, **val})
            self.acc.print(self.history[-1])
            if val["recall"] > best:
                best = val["recall"]
                self.save("best.pt")
            if self.acc.is_main_process:
                (self.out / "history.json").write_text(json.dumps(self.history, indent=2))
        self.save("last.pt")


if __name__ == "__main__":
    with open(sys.argv[1]) as fh:
        Engine(SimpleNamespace(**yaml.safe_load(fh))).fit()
