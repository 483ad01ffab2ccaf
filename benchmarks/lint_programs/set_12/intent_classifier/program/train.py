"""accelerate launch --multi_gpu --num_processes 4 train.py"""
import math
import os

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader

from config import Config
from data import Utterances
from model import IntentModel, linear_with_warmup


def evaluate(accelerator, model, loader):
    model.eval()
    hits, seen = 0, 0
    for batch in loader:
        with torch.no_grad():
            _, logits = model(batch["input_ids"])
        pred, ref = accelerator.gather_for_metrics((logits.argmax(-1), batch["labels"]))
        hits += (pred == ref).sum().item()
        seen += ref.numel()
    model.train()
    return hits / seen


def main():
    cfg = Config.from_cli()
    accelerator = Accelerator(gradient_accumulation_steps=cfg.accumulation)
    set_seed(cfg.seed)

    train_loader = DataLoader(Utterances(cfg, 12000, seed=1), batch_size=cfg.batch_size,
                              shuffle=True, num_workers=2)
    eval_loader = DataLoader(Utterances(cfg, 1500, seed=2), batch_size=cfg.batch_size)

    model = IntentModel(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)

    model, optimizer, train_loader, eval_loader = accelerator.prepare(
        model, optimizer, train_loader, eval_loader)

    steps_per_epoch = math.ceil(len(train_loader) / cfg.accumulation)
    total_steps = cfg.epochs * steps_per_epoch
    scheduler = linear_with_warmup(optimizer, total_steps, cfg.warmup_ratio)
    scheduler = accelerator.prepare(scheduler)
    accelerator.print(f"{accelerator.num_processes} processes, {total_steps} optimizer steps")

    step = 0
    for epoch in range(cfg.epochs):
        model.train()
        for batch in train_loader:
            with accelerator.accumulate(model):
                loss, _ = model(**batch)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), cfg.clip)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                step += 1
                if step % 50 == 0:
                    mean = accelerator.reduce(loss.detach(), reduction="mean").item()
                    accelerator.print(f"step {step}/{total_steps} loss {mean:.4f}")
        accuracy = evaluate(accelerator, model, eval_loader)
        accelerator.print(f"epoch {epoch}: accuracy {accuracy:.4f}")

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        os.makedirs(cfg.out, exist_ok=True)
        torch.save(accelerator.unwrap_model(model).state_dict(), os.path.join(cfg.out, "intent.pt"))
    accelerator.end_training()


if __name__ == "__main__":
    main()
