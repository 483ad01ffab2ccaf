"""Masked-LM continued pretraining."""
import argparse
import math
import random

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from transformers import AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling

from corpus import NoteBlocks, loaders
from optim import adamw, warmup_cosine


def cli():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--notes", required=True)
    p.add_argument("--base", default="bert-base-uncased")
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--accumulate", type=int, default=8)
    p.add_argument("--block", type=int, default=256)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--warmup", type=float, default=0.05, help="fraction of all updates")
    p.add_argument("--mlm", type=float, default=0.15)
    p.add_argument("--seed", type=int, default=42)
    p.add_argument("--out", default="dapt-out")
    return p.parse_args()


@torch.no_grad()
def perplexity(accelerator, model, loader):
    model.eval()
    losses = []
    for batch in loader:
        loss = model(**batch).loss
        losses.append(accelerator.gather_for_metrics(loss.repeat(len(batch["input_ids"]))))
    model.train()
    return math.exp(min(torch.cat(losses).mean().item(), 20))


def main():
    opt = cli()
    accelerator = Accelerator(gradient_accumulation_steps=opt.accumulate, mixed_precision="bf16")
    set_seed(opt.seed, device_specific=True)

    with accelerator.main_process_first():
        tokenizer = AutoTokenizer.from_pretrained(opt.base)
        model = AutoModelForMaskedLM.from_pretrained(opt.base)

    with open(opt.notes, encoding="utf-8") as fh:
        notes = [line.strip() for line in fh if line.strip()]
    random.Random(opt.seed).shuffle(notes)
    held = max(len(notes) // 100, 1)
    train_loader, dev_loader = loaders(
        NoteBlocks(notes[held:], tokenizer, opt.block),
        NoteBlocks(notes[:held], tokenizer, opt.block),
        DataCollatorForLanguageModeling(tokenizer, mlm_probability=opt.mlm),
        opt.batch,
    )
    train_loader, dev_loader = accelerator.prepare(train_loader, dev_loader)

    optimizer = adamw(model, opt.lr)
    updates = opt.epochs * math.ceil(len(train_loader) / opt.accumulate)
    scheduler = warmup_cosine(optimizer, updates, opt.warmup)
    model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)

    accelerator.print(f"{len(train_loader)} batches per process and epoch, {updates} updates in all")
    done = 0
    for epoch in range(opt.epochs):
        model.train()
        for batch in train_loader:
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                done += 1
                if done % 50 == 0:
                    mean = accelerator.reduce(loss.detach(), reduction="mean").item()
                    accelerator.print(f"{done}/{updates} loss {mean:.3f}")

        ppl = perplexity(accelerator, model, dev_loader)
        accelerator.print(f"epoch {epoch}: held-out perplexity {ppl:.2f}")
        accelerator.wait_for_everyone()
        accelerator.unwrap_model(model).save_pretrained(
            f"{opt.out}/epoch{epoch}",
            is_main_process=accelerator.is_main_process,
            save_function=accelerator.save,
        )
    if accelerator.is_main_process:
        tokenizer.save_pretrained(opt.out)
    accelerator.end_training()


if __name__ == "__main__":
    main()
