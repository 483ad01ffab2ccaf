import argparse
import math
import os

import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration, set_seed
from torch import nn
from torch.utils.data import DataLoader

from data import Reviews


class Classifier(nn.Module):
    def __init__(self, vocab=500, dim=64, classes=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(dim, classes)

    def forward(self, input_ids, labels):
        logits = self.head(self.encoder(self.embed(input_ids)).mean(1))
        return nn.functional.cross_entropy(logits, labels), logits


def linear_schedule(optimizer, warmup_steps, total_steps):
    def factor(step):
        if step < warmup_steps:
            return step / max(1, warmup_steps)
        return max(0.0, (total_steps - step) / max(1, total_steps - warmup_steps))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--output-dir", default="out")
    p.add_argument("--per-device-batch", type=int, default=16)
    p.add_argument("--grad-accum", type=int, default=2)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--train-size", type=int, default=4096)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--warmup-ratio", type=float, default=0.1)
    p.add_argument("--seed", type=int, default=42)
    p.add_argument("--cpu", action="store_true")
    return p.parse_args()


@torch.no_grad()
def evaluate(accelerator, model, loader):
    model.eval()
    correct = seen = 0
    for batch in loader:
        _, logits = model(**batch)
        pred, labels = accelerator.gather_for_metrics((logits.argmax(-1), batch["labels"]))
        correct += (pred == labels).sum().item()
        seen += len(labels)
    return correct / seen


def main():
    args = parse_args()
    accelerator = Accelerator(
        cpu=args.cpu,
        gradient_accumulation_steps=args.grad_accum,
        project_config=ProjectConfiguration(args.output_dir, automatic_checkpoint_naming=True, total_limit=2),
    )
    set_seed(args.seed)

    train_loader = DataLoader(Reviews(args.train_size), args.per_device_batch, shuffle=True, drop_last=True)
    eval_loader = DataLoader(Reviews(500, seed=1), args.per_device_batch * 2)
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    model, optimizer, train_loader, eval_loader = accelerator.prepare(model, optimizer, train_loader, eval_loader)

    updates_per_epoch = math.ceil(len(train_loader) / args.grad_accum)
    max_updates = args.epochs * updates_per_epoch
    scheduler = linear_schedule(optimizer, int(args.warmup_ratio * max_updates), max_updates)
    scheduler = accelerator.prepare(scheduler)

    accelerator.print(f"{max_updates} optimizer updates, effective batch "
                      f"{args.per_device_batch * args.grad_accum * accelerator.num_processes}")
    done = 0
    for epoch in range(args.epochs):
        model.train()
        for batch in train_loader:
            with accelerator.accumulate(model):
                loss, _ = model(**batch)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                    done += 1
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients and done % 10 == 0:
                mean = accelerator.reduce(loss.detach(), reduction="mean").item()
                accelerator.print(f"update {done}/{max_updates} loss {mean:.4f} lr {scheduler.get_last_lr()[0]:.2e}")
        acc = evaluate(accelerator, model, eval_loader)
        accelerator.print(f"epoch {epoch} accuracy {acc:.4f}")
        accelerator.save_state()

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        torch.save(accelerator.unwrap_model(model).state_dict(), os.path.join(args.output_dir, "model.pt"))
    accelerator.end_training()


if __name__ == "__main__":
    main()
