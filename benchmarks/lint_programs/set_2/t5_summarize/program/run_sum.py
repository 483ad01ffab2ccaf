#!/usr/bin/env python
"""Fine-tune T5 on XSum."""
import argparse
import logging

import evaluate
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, get_linear_schedule_with_warmup

logger = logging.getLogger(__name__)


def parse_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--model_name", default="google-t5/t5-base")
    ap.add_argument("--max_source", type=int, default=512)
    ap.add_argument("--max_target", type=int, default=64)
    ap.add_argument("--train_bs", type=int, default=16)
    ap.add_argument("--eval_bs", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--lr", type=float, default=1e-4)
    ap.add_argument("--beams", type=int, default=4)
    ap.add_argument("--output_dir", default="out")
    return ap.parse_args()


def build_data(args, tok, accelerator):
    def encode(ex):
        src = tok(["summarize: " + d for d in ex["document"]], max_length=args.max_source, truncation=True)
        tgt = tok(text_target=ex["summary"], max_length=args.max_target, truncation=True)
        src["labels"] = tgt["input_ids"]
        return src

    with accelerator.main_process_first():
        raw = load_dataset("EdinburghNLP/xsum")
        cols = raw["train"].column_names
        ds = raw.map(encode, batched=True, remove_columns=cols)

    def collate(rows):
        enc = tok.pad(
            [{"input_ids": r["input_ids"], "attention_mask": r["attention_mask"]} for r in rows],
            padding="longest",
            return_tensors="pt",
        )
        labels = torch.full((len(rows), args.max_target), -100)
        for i, r in enumerate(rows):
            labels[i, : len(r["labels"])] = torch.tensor(r["labels"])
        enc["labels"] = labels
        return enc

    train = DataLoader(ds["train"], shuffle=True, batch_size=args.train_bs, collate_fn=collate)
    val = DataLoader(ds["validation"], batch_size=args.eval_bs, collate_fn=collate)
    return train, val


@torch.no_grad()
def evaluate_rouge(accelerator, model, loader, tok, args):
    model.eval()
    gen_model = accelerator.unwrap_model(model)
    hyps, refs = [], []
    for batch in loader:
        pred = gen_model.generate(
            batch["input_ids"],
            attention_mask=batch["attention_mask"],
            max_new_tokens=args.max_target,
            num_beams=args.beams,
        )
        pred, labels = accelerator.gather_for_metrics((pred, batch["labels"]))
        if accelerator.is_main_process:
            labels = labels.masked_fill(labels == -100, tok.pad_token_id)
            hyps += tok.batch_decode(pred, skip_special_tokens=True)
            refs += tok.batch_decode(labels, skip_special_tokens=True)
    model.train()
    if accelerator.is_main_process:
        return evaluate.load("rouge").compute(predictions=hyps, references=refs, use_stemmer=True)
    return None


def main():
    args = parse_args()
    accelerator = Accelerator(mixed_precision="bf16")
    logging.basicConfig(level=logging.INFO if accelerator.is_main_process else logging.ERROR)
    set_seed(7)

    tok = AutoTokenizer.from_pretrained(args.model_name)
    model = AutoModelForSeq2SeqLM.from_pretrained(args.model_name)
    train, val = build_data(args, tok, accelerator)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    # the schedule counts batches over all processes
    sched = get_linear_schedule_with_warmup(opt, 500, len(train) * args.epochs)
    model, opt, train, val, sched = accelerator.prepare(model, opt, train, val, sched)

    for epoch in range(args.epochs):
        for step, batch in enumerate(train):
            loss = model(**batch).loss
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
            if step % 100 == 0:
                logger.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
        scores = evaluate_rouge(accelerator, model, val, tok, args)
        if accelerator.is_main_process:
            logger.info("epoch %d %s", epoch, scores)
        accelerator.wait_for_everyone()
        accelerator.unwrap_model(model).save_pretrained(
            args.output_dir, is_main_process=accelerator.is_main_process, save_function=accelerator.save
        )
    accelerator.end_training()


if __name__ == "__main__":
    main()
