"""Grades defects of castings with a small ViT.

    torchrun --nproc-per-node 8 train.py --output_dir runs/grades
"""
import sys
from dataclasses import dataclass, field

from transformers import (EarlyStoppingCallback, HfArgumentParser, TrainingArguments, ViTConfig,
                          ViTForImageClassification, set_seed)

from balanced import BalancedTrainer, macro_f1
from data import CastingCrops


@dataclass
class GradeArguments:
    image_size: int = field(default=32)
    hidden_size: int = field(default=96)
    layers: int = field(default=4)
    train_samples: int = field(default=20000)
    eval_samples: int = field(default=2000)
    patience: int = field(default=3)


DEFAULTS = [
    "--per_device_train_batch_size", "64",
    "--per_device_eval_batch_size", "128",
    "--num_train_epochs", "10",
    "--learning_rate", "3e-4",
    "--warmup_steps", "100",
    "--eval_strategy", "epoch",
    "--save_strategy", "epoch",
    "--save_total_limit", "2",
    "--load_best_model_at_end", "true",
    "--metric_for_best_model", "macro_f1",
    "--dataloader_num_workers", "2",
    "--report_to", "none",
]


def build_model(g):
    return ViTForImageClassification(ViTConfig(
        image_size=g.image_size, patch_size=4, num_channels=3, hidden_size=g.hidden_size,
        num_hidden_layers=g.layers, num_attention_heads=4, intermediate_size=4 * g.hidden_size,
        num_labels=len(CastingCrops.FREQ)))


def main():
    parser = HfArgumentParser((GradeArguments, TrainingArguments))
    grade_args, args = parser.parse_args_into_dataclasses(args=DEFAULTS + sys.argv[1:])
    set_seed(args.seed)
    trainer = BalancedTrainer(
        model=build_model(grade_args),
        args=args,
        train_dataset=CastingCrops(grade_args.train_samples, grade_args.image_size, seed=1),
        eval_dataset=CastingCrops(grade_args.eval_samples, grade_args.image_size, seed=2),
        compute_metrics=macro_f1,
        callbacks=[EarlyStoppingCallback(early_stopping_patience=grade_args.patience)],
    )
    result = trainer.train()
    trainer.save_model()
    trainer.log_metrics("train", result.metrics)
    trainer.save_metrics("train", result.metrics)
    metrics = trainer.evaluate()
    trainer.log_metrics("eval", metrics)
    trainer.save_metrics("eval", metrics)


if __name__ == "__main__":
    main()
