from dataclasses import dataclass

import numpy as np
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.trainer_utils import get_last_checkpoint

from callbacks import PeakMemory, WallClockBudget
from data import Clauses, collate


@dataclass
class TaskArguments:
    vocab: int = 4096
    clause_types: int = 12
    max_len: int = 96
    train_rows: int = 20000
    eval_rows: int = 2000
    queue_minutes: float = 240.0


def accuracy(prediction):
    guess = np.argmax(prediction.predictions, axis=-1)
    return {"accuracy": float((guess == prediction.label_ids).mean())}


def main():
    task, args = HfArgumentParser((TaskArguments, TrainingArguments)).parse_args_into_dataclasses()
    set_seed(args.seed)

    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=task.vocab,
            hidden_size=128,
            num_hidden_layers=4,
            num_attention_heads=4,
            intermediate_size=512,
            num_labels=task.clause_types,
        )
    )
    shape = (task.vocab, task.clause_types, task.max_len)
    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=Clauses(task.train_rows, *shape, seed=args.seed),
        eval_dataset=Clauses(task.eval_rows, *shape, seed=args.seed + 1),
        data_collator=collate,
        compute_metrics=accuracy,
        callbacks=[WallClockBudget(task.queue_minutes), PeakMemory()],
    )
    trainer.train(resume_from_checkpoint=get_last_checkpoint(args.output_dir))
    trainer.save_model()
    metrics = trainer.evaluate()
    trainer.log_metrics("eval", metrics)
    trainer.save_metrics("eval", metrics)


if __name__ == "__main__":
    main()
