import argparse
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
import yaml
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from finetune import BackboneFinetuning
from model import build_model


def load_data(path, num_classes):
    if path:
        archive = np.load(path)
        images, labels = archive["images"], archive["labels"]
    else:
        rng = np.random.default_rng(5)
        labels = rng.integers(0, num_classes, 240)
        images = rng.standard_normal((240, 3, 24, 24)) * 0.5
        for i, y in enumerate(labels):
            images[i, y % 3, 4 * y:4 * y + 4] += 1.0
    data = TensorDataset(torch.as_tensor(images).float(), torch.as_tensor(labels).long())
    n_val = len(data) // 6
    return Subset(data, range(n_val, len(data))), Subset(data, range(n_val))


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct = torch.zeros(2, device=device)
    for x, y in loader:
        pred = model(x.to(device)).argmax(1).cpu()
        correct += torch.tensor([(pred == y).sum(), len(y)], device=device)
    dist.all_reduce(correct)
    return (correct[0] / correct[1]).item()


class Trainer:
    def __init__(self, cfg, device, local_rank):
        self.cfg, self.device = cfg, device
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.device_ids = [local_rank] if device.type == "cuda" else None
        tcfg, dcfg = cfg["train"], cfg["data"]

        model = build_model(num_classes=dcfg["num_classes"], **cfg["model"]).to(device)
        self.finetuning = BackboneFinetuning(**cfg["finetune"])
        trainable = self.finetuning.setup(model)
        self.optimizer = torch.optim.AdamW(trainable, lr=tcfg["lr"], weight_decay=tcfg["weight_decay"])
        self.model = self.wrap(model)

        train_set, val_set = load_data(dcfg["path"], dcfg["num_classes"])
        self.sampler = DistributedSampler(train_set, shuffle=True, seed=cfg["seed"], drop_last=True)
        common = dict(batch_size=dcfg["batch_size"], num_workers=dcfg["workers"])
        self.train_loader = DataLoader(train_set, sampler=self.sampler, drop_last=True, **common)
        shard = Subset(val_set, range(self.rank, len(val_set), self.world))
        self.val_loader = DataLoader(shard, **common)

    def wrap(self, model):
        return DistributedDataParallel(model, device_ids=self.device_ids)

    def train_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        self.finetuning.on_epoch_start(epoch, self.model.module, self.optimizer)
        self.model.train()
        meter = torch.zeros(2, device=self.device)
        for x, y in self.train_loader:
            loss = F.cross_entropy(self.model(x.to(self.device)), y.to(self.device))
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            meter += torch.stack([loss.detach(), torch.ones_like(loss)])
        dist.all_reduce(meter)
        return (meter[0] / meter[1]).item()

    def fit(self):
        best = -1.0
        for epoch in range(self.cfg["train"]["epochs"]):
            loss = self.train_epoch(epoch)
            acc = evaluate(self.model.module, self.val_loader, self.device)
            if self.rank == 0:
                print(f"epoch {epoch} loss {loss:.4f} val acc {acc:.3f}", flush=True)
                if acc > best:
                    best = acc
                    out = self.cfg["train"]["out"]
                    os.makedirs(out, exist_ok=True)
                    torch.save(self.model.module.state_dict(), os.path.join(out, "best.pt"))
            dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.yaml")
    args = parser.parse_args()
    with open(args.config) as f:
        cfg = yaml.safe_load(f)

    use_cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    if use_cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if use_cuda else "gloo")
    torch.manual_seed(cfg["seed"] + dist.get_rank())
    device = torch.device("cuda", local_rank) if use_cuda else torch.device("cpu")

    Trainer(cfg, device, local_rank).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
