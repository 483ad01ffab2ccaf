import sys
from dataclasses import dataclass, field

import numpy as np
from datasets import load_dataset
from sklearn.metrics import accuracy_score, f1_score
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    HfArgumentParser,
    TrainingArguments,
    set_seed,
)

from weighted_trainer import ClassWeightedTrainer


@dataclass
class Args:
    model: str = field(default="FacebookAI/roberta-base")
    train_file: str = field(default="data/train.jsonl")
    dev_file: str = field(default="data/dev.jsonl")
    max_len: int = field(default=256)
    sample_power: float = field(default=0.5)


def metrics(p):
    pred = np.argmax(p.predictions, axis=-1)
    return {
        "acc": accuracy_score(p.label_ids, pred),
        "macro_f1": f1_score(p.label_ids, pred, average="macro"),
    }


def main():
    args, targs = HfArgumentParser((Args, TrainingArguments)).parse_args_into_dataclasses(sys.argv[1:])
    set_seed(targs.seed)
    with targs.main_process_first(desc="load and tokenize"):
        raw = load_dataset("json", data_files={"train": args.train_file, "dev": args.dev_file})
        names = sorted(set(raw["train"]["intent"]))
        index = {n: i for i, n in enumerate(names)}
        tok = AutoTokenizer.from_pretrained(args.model)

        def enc(ex):
            out = tok(ex["text"], truncation=True, max_length=args.max_len)
            out["labels"] = [index[n] for n in ex["intent"]]
            return out

        ds = raw.map(enc, batched=True, remove_columns=raw["train"].column_names)

    model = AutoModelForSequenceClassification.from_pretrained(args.model, num_labels=len(names))
    trainer = ClassWeightedTrainer(
        model=model,
        args=targs,
        train_dataset=ds["train"],
        eval_dataset=ds["dev"],
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=metrics,
        sample_power=args.sample_power,
    )
    trainer.train()
    res = trainer.evaluate()
    trainer.log_metrics("eval", res)
    trainer.save_metrics("eval", res)
    trainer.save_model()


if __name__ == "__main__":
    main()
