import argparse
import math
import os

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader

from data import build_datasets
from model import CharLM
from optim import build_optimizer, warmup_cosine


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default=None)
    p.add_argument("--block_size", type=int, default=32)
    p.add_argument("--batch_size", type=int, default=8)
    p.add_argument("--accum", type=int, default=2)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--weight_decay", type=float, default=0.1)
    p.add_argument("--warmup_ratio", type=float, default=0.1)
    p.add_argument("--log_every", type=int, default=10)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--output_dir", default="out")
    return p.parse_args()


@torch.no_grad()
def validate(accelerator, model, loader):
    model.eval()
    losses = []
    for x, y in loader:
        loss = model(x, y)
        losses.append(accelerator.gather_for_metrics(loss.repeat(x.size(0))))
    model.train()
    return torch.cat(losses).mean().item()


def main():
    args = parse_args()
    accelerator = Accelerator(gradient_accumulation_steps=args.accum)
    set_seed(args.seed)
    train_set, val_set, vocab = build_datasets(args.data, args.block_size)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, args.batch_size)

    model = CharLM(len(vocab), args.block_size)
    optimizer = build_optimizer(model, args.lr, args.weight_decay)
    model, optimizer, train_loader, val_loader = accelerator.prepare(model, optimizer, train_loader, val_loader)

    updates_per_epoch = math.ceil(len(train_loader) / args.accum)
    total_steps = args.epochs * updates_per_epoch
    warmup_steps = int(args.warmup_ratio * total_steps)
    scheduler = accelerator.prepare(warmup_cosine(optimizer, warmup_steps, total_steps))
    accelerator.print(f"{total_steps} updates, {warmup_steps} warmup, {accelerator.num_processes} processes")

    step = 0
    for epoch in range(args.epochs):
        for x, y in train_loader:
            with accelerator.accumulate(model):
                loss = model(x, y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                step += 1
                if step % args.log_every == 0:
                    mean = accelerator.reduce(loss.detach(), reduction="mean").item()
                    accelerator.print(f"step {step}/{total_steps} loss {mean:.4f} lr {scheduler.get_last_lr()[0]:.2e}")
        accelerator.print(f"epoch {epoch} val {validate(accelerator, model, val_loader):.4f}")

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        os.makedirs(args.output_dir, exist_ok=True)
        torch.save(accelerator.unwrap_model(model).state_dict(), os.path.join(args.output_dir, "model.pt"))
    accelerator.end_training()


if __name__ == "__main__":
    main()
