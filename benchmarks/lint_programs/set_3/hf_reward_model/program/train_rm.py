import argparse

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import Dataset
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    Trainer,
    TrainingArguments,
    set_seed,
)

from callbacks import MarginGuard
from prefs import load_pairs


class Pairs(Dataset):
    def __init__(self, rows, tok, max_len):
        self.rows, self.tok, self.max_len = rows, tok, max_len

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        r = self.rows[i]
        enc = lambda a: self.tok(r["prompt"], a, truncation=True, max_length=self.max_len)
        return {"chosen": enc(r["chosen"]), "rejected": enc(r["rejected"])}


class PairCollator:
    def __init__(self, tok):
        self.tok = tok

    def __call__(self, feats):
        batch = self.tok.pad([f["chosen"] for f in feats] + [f["rejected"] for f in feats], return_tensors="pt")
        batch["labels"] = torch.zeros(len(feats), dtype=torch.long)
        return batch


class RewardTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        inputs = {k: v for k, v in inputs.items() if k != "labels"}
        rewards = model(**inputs).logits.squeeze(-1)
        chosen, rejected = rewards.chunk(2)
        loss = -F.logsigmoid(chosen - rejected).mean()
        if return_outputs:
            return loss, {"logits": torch.stack([chosen, rejected], dim=-1)}
        return loss

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        labels = inputs["labels"]
        inputs = self._prepare_inputs(inputs)
        with torch.no_grad():
            loss, out = self.compute_loss(model, inputs, return_outputs=True)
        return loss, out["logits"], labels.to(loss.device)


def metrics(pred):
    d = pred.predictions[:, 0] - pred.predictions[:, 1]
    return {"accuracy": float(np.mean(d > 0)), "margin": float(np.mean(d))}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--model", default="roberta-base")
    ap.add_argument("--data", default="prefs.jsonl")
    ap.add_argument("--out", default="rm")
    ap.add_argument("--max-len", type=int, default=512)
    ap.add_argument("--seed", type=int, default=17)
    args = ap.parse_args()

    set_seed(args.seed)
    tok = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForSequenceClassification.from_pretrained(args.model, num_labels=1)
    train, dev = load_pairs(args.data, args.seed)

    targs = TrainingArguments(
        output_dir=args.out,
        per_device_train_batch_size=8,
        per_device_eval_batch_size=16,
        num_train_epochs=3,
        learning_rate=1e-5,
        warmup_steps=100,
        lr_scheduler_type="cosine",
        eval_strategy="steps",
        eval_steps=200,
        save_steps=200,
        save_total_limit=2,
        logging_steps=20,
        remove_unused_columns=False,
        label_names=["labels"],
        ddp_find_unused_parameters=False,
        seed=args.seed,
        report_to=[],
    )
    trainer = RewardTrainer(
        model=model,
        args=targs,
        train_dataset=Pairs(train, tok, args.max_len),
        eval_dataset=Pairs(dev, tok, args.max_len),
        data_collator=PairCollator(tok),
        compute_metrics=metrics,
        callbacks=[MarginGuard(f"{args.out}/margins.jsonl")],
    )
    trainer.train()
    trainer.save_model(f"{args.out}/final")


if __name__ == "__main__":
    main()
