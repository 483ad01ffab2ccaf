import argparse
import os

import torch
import yaml
from accelerate import Accelerator
from accelerate.utils import set_seed

from data import build_loaders
from guard import LossGuard
from model import Captioner


@torch.no_grad()
def evaluate(accelerator, model, loader):
    model.eval()
    losses = []
    for batch in loader:
        per_caption = model(batch["image"], batch["tokens"]).mean(dim=1)
        losses.append(accelerator.gather_for_metrics(per_caption))
    model.train()
    return torch.cat(losses).mean().item()


def save(accelerator, model, path):
    accelerator.wait_for_everyone()
    state = accelerator.get_state_dict(model)
    if accelerator.is_main_process:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        accelerator.save(state, path)


def train(cfg):
    accelerator = Accelerator(gradient_accumulation_steps=cfg["accumulate"])
    set_seed(cfg["seed"])
    model = Captioner(cfg["features"], cfg["vocab"], cfg["length"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    train_loader, val_loader = build_loaders(cfg)
    model, optimizer, train_loader, val_loader = accelerator.prepare(model, optimizer, train_loader, val_loader)
    guard = LossGuard(accelerator, **cfg["guard"])

    stopped = False
    for epoch in range(cfg["epochs"]):
        for batch in train_loader:
            with accelerator.accumulate(model):
                loss = model(batch["image"], batch["tokens"]).mean()
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), cfg["clip"])
                optimizer.step()
                optimizer.zero_grad()
            guard.update(loss.item())
            if guard.tripped():
                stopped = True
                break
        if stopped:
            accelerator.print(f"epoch {epoch}: loss diverged, stopping")
            break
        accelerator.print(f"epoch {epoch}: val {evaluate(accelerator, model, val_loader):.4f}")
        save(accelerator, model, os.path.join(cfg["out"], f"epoch{epoch}.pt"))
    accelerator.end_training()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.yaml")
    with open(parser.parse_args().config) as handle:
        train(yaml.safe_load(handle))
