import sys

import numpy as np
from transformers import HfArgumentParser, TrainingArguments, set_seed

from tagger.data import NUM_CLASSES, ClauseDataset
from tagger.model import ClauseTagger
from tagger.trainer import BalancedTrainer, BestMetricPrinter


def compute_metrics(pred):
    guess = np.argmax(pred.predictions, axis=-1)
    scores = []
    for c in range(NUM_CLASSES):
        tp = np.sum((guess == c) & (pred.label_ids == c))
        fp = np.sum((guess == c) & (pred.label_ids != c))
        fn = np.sum((guess != c) & (pred.label_ids == c))
        scores.append(2 * tp / max(2 * tp + fp + fn, 1))
    return {"macro_f1": float(np.mean(scores))}


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "args.json"
    (training_args,) = HfArgumentParser(TrainingArguments).parse_json_file(path)
    set_seed(training_args.seed)

    train_set = ClauseDataset(8000, seed=1)
    eval_set = ClauseDataset(1000, seed=2)
    trainer = BalancedTrainer(
        model=ClauseTagger(NUM_CLASSES),
        args=training_args,
        train_dataset=train_set,
        eval_dataset=eval_set,
        compute_metrics=compute_metrics,
        callbacks=[BestMetricPrinter("eval_macro_f1")],
        train_labels=train_set.labels,
    )
    trainer.train()
    trainer.save_model()
    trainer.save_state()
    metrics = trainer.evaluate()
    trainer.log_metrics("eval", metrics)
    trainer.save_metrics("eval", metrics)


if __name__ == "__main__":
    main()
