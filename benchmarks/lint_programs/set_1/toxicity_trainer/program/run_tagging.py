import logging
import sys
from dataclasses import dataclass, field

import numpy as np
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    EarlyStoppingCallback,
    HfArgumentParser,
    TrainingArguments,
    set_seed,
)

from comments import LABELS, Collator, CommentDataset
from sampling import BalancedTrainer

logger = logging.getLogger("tagging")


@dataclass
class Arguments:
    model_name_or_path: str = field(default="roberta-base")
    train_csv: str = field(default="data/train.csv")
    eval_csv: str = field(default="data/dev.csv")
    max_length: int = field(default=192)


def average_precision(scores, truth):
    order = np.argsort(-scores, kind="stable")
    hits = truth[order] > 0
    if not hits.any():
        return float("nan")
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(precision[hits].mean())


def compute_metrics(pred):
    aps = {
        f"ap_{name}": average_precision(pred.predictions[:, j], pred.label_ids[:, j]) for j, name in enumerate(LABELS)
    }
    return {"macro_ap": float(np.nanmean(list(aps.values()))), **aps}


def main():
    args, targs = HfArgumentParser((Arguments, TrainingArguments)).parse_args_into_dataclasses()
    targs.remove_unused_columns = False
    logging.basicConfig(
        level=logging.INFO if targs.should_log else logging.WARNING, handlers=[logging.StreamHandler(sys.stdout)]
    )
    set_seed(targs.seed)

    with targs.main_process_first(desc="model files"):
        tokenizer = AutoTokenizer.from_pretrained(args.model_name_or_path)
        model = AutoModelForSequenceClassification.from_pretrained(
            args.model_name_or_path, num_labels=len(LABELS), problem_type="multi_label_classification"
        )

    trainer = BalancedTrainer(
        model=model,
        args=targs,
        train_dataset=CommentDataset(args.train_csv, tokenizer, args.max_length) if targs.do_train else None,
        eval_dataset=CommentDataset(args.eval_csv, tokenizer, args.max_length),
        data_collator=Collator(tokenizer),
        compute_metrics=compute_metrics,
        callbacks=[EarlyStoppingCallback(early_stopping_patience=2)],
    )

    if targs.do_train:
        result = trainer.train(resume_from_checkpoint=None)
        trainer.save_model()
        trainer.log_metrics("train", result.metrics)
        trainer.save_metrics("train", result.metrics)
        trainer.save_state()

    if targs.do_eval:
        metrics = trainer.evaluate()
        trainer.log_metrics("eval", metrics)
        trainer.save_metrics("eval", metrics)


if __name__ == "__main__":
    main()
