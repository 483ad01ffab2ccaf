import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

from schedule import warmup_cosine


def crystals(n, sites, elements, seed):
    g = torch.Generator().manual_seed(seed)
    z = torch.randint(elements, (n, sites), generator=g)
    chi = torch.rand(elements, generator=torch.Generator().manual_seed(99))
    gap = (chi[z].std(-1) * 4 - chi[z].mean(-1)).unsqueeze(-1)
    return TensorDataset(z, gap)


class Regressor(nn.Module):
    def __init__(self, elements, dim, layers, heads):
        super().__init__()
        self.emb = nn.Embedding(elements, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(dim, 1)

    def forward(self, z):
        return self.out(self.enc(self.emb(z)).mean(1))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", default="config.yaml")
    ap.add_argument("--num-train", type=int)
    ap.add_argument("--epochs", type=int)
    args = ap.parse_args()
    with open(args.config) as f:
        cfg = yaml.safe_load(f)
    if args.num_train:
        cfg["data"]["num_train"] = args.num_train
    if args.epochs:
        cfg["epochs"] = args.epochs

    accelerator = Accelerator(gradient_accumulation_steps=cfg["accum"])
    set_seed(cfg["seed"])
    d, o = cfg["data"], cfg["optim"]
    train_set = crystals(d["num_train"], d["sites"], d["elements"], cfg["seed"])
    loader = DataLoader(train_set, cfg["loader"]["batch_size"], shuffle=True, drop_last=True)
    model = Regressor(d["elements"], **cfg["model"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=o["lr"], weight_decay=o["weight_decay"])
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    updates_per_epoch = math.ceil(len(loader) / cfg["accum"])
    total_updates = cfg["epochs"] * updates_per_epoch
    scheduler = warmup_cosine(optimizer, total_updates, o["warmup_ratio"], o["min_ratio"])
    scheduler = accelerator.prepare(scheduler)

    done = 0
    for epoch in range(cfg["epochs"]):
        run = torch.zeros(2, device=accelerator.device)
        for z, gap in loader:
            with accelerator.accumulate(model):
                loss = F.mse_loss(model(z), gap)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                    done += 1
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            run += torch.stack([loss.detach(), torch.ones_like(loss)])
        run = accelerator.reduce(run, reduction="sum")
        accelerator.print(f"epoch {epoch} update {done}/{total_updates} mse {(run[0] / run[1]).item():.4f} "
                          f"lr {scheduler.get_last_lr()[0]:.2e}", flush=True)

    accelerator.wait_for_everyone()
    accelerator.save(accelerator.unwrap_model(model).state_dict(), "gap.pt")
    accelerator.end_training()


if __name__ == "__main__":
    main()
