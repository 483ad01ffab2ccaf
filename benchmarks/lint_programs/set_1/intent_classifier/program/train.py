import argparse
import os

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_linear_schedule_with_warmup

from data import build_loaders, label_names
from evaluation import evaluate

logger = get_logger(__name__)


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--train_file", required=True)
    p.add_argument("--valid_file", required=True)
    p.add_argument("--model_name", default="microsoft/deberta-v3-small")
    p.add_argument("--output_dir", default="runs/intent")
    p.add_argument("--per_device_batch_size", type=int, default=32)
    p.add_argument("--max_length", type=int, default=96)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--lr", type=float, default=3e-5)
    p.add_argument("--warmup_ratio", type=float, default=0.06)
    p.add_argument("--log_every", type=int, default=50)
    p.add_argument("--seed", type=int, default=13)
    return p.parse_args()


def main():
    args = parse_args()
    accelerator = Accelerator()
    set_seed(args.seed)

    labels = label_names(args.train_file)
    with accelerator.main_process_first():
        tokenizer = AutoTokenizer.from_pretrained(args.model_name)
        model = AutoModelForSequenceClassification.from_pretrained(args.model_name, num_labels=len(labels))

    train_loader, valid_loader = build_loaders(args, tokenizer, labels)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)

    # the prepared scheduler advances once per process, so count batches of the unsharded loader
    total = args.epochs * len(train_loader)
    scheduler = get_linear_schedule_with_warmup(optimizer, int(args.warmup_ratio * total), total)

    model, optimizer, train_loader, valid_loader, scheduler = accelerator.prepare(
        model, optimizer, train_loader, valid_loader, scheduler
    )

    best = -1.0
    for epoch in range(args.epochs):
        model.train()
        for step, batch in enumerate(train_loader):
            loss = model(**batch).loss
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()

            if step % args.log_every == 0:
                mean = accelerator.reduce(loss.detach(), reduction="mean")
                accelerator.print(f"epoch {epoch} step {step} loss {mean.item():.4f}")

        scores = evaluate(accelerator, model, valid_loader, len(labels))
        if accelerator.is_main_process:
            accelerator.print(f"epoch {epoch}: {scores}")
            if scores["macro_f1"] > best:
                best = scores["macro_f1"]
                target = os.path.join(args.output_dir, "best")
                accelerator.unwrap_model(model).save_pretrained(target)
                tokenizer.save_pretrained(target)
        accelerator.wait_for_everyone()

    accelerator.end_training()


if __name__ == "__main__":
    main()
