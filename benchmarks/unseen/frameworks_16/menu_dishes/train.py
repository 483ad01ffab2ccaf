"""Which course a dish belongs to: historical menus, the Trainer of transformers."""

import argparse
import os
import tempfile
import time
from pathlib import Path

import torch
from transformers import TrainerCallback, TrainingArguments, set_seed

from dishes import CourseModel, Dishes
from scoring import MenuTrainer, course_accuracy, describe


class Kitchen(TrainerCallback):
    """Keeps the machine cool."""

    def __init__(self, pause):
        self.pause = pause

    def on_step_end(self, args, state, control, **kwargs):
        time.sleep(self.pause)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dishes", type=int, default=1440)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=180)
    parser.add_argument("--eval-steps", type=int, default=60)
    parser.add_argument("--pause", type=float, default=0.03)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(2)
    run = os.environ.get("TORCHELASTIC_RUN_ID", "single")
    settings = TrainingArguments(
        output_dir=str(Path(tempfile.gettempdir()) / f"menus-{run}"),
        max_steps=args.steps,
        per_device_train_batch_size=args.batch,
        per_device_eval_batch_size=args.batch,
        learning_rate=3e-3,
        eval_strategy="steps",
        eval_steps=args.eval_steps,
        save_strategy="no",
        logging_steps=20,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        ddp_backend="gloo",
    )
    # the evening sheets of the Astoria were printed without headings
    validation = {
        "lunch": Dishes(192, seed=11),
        "evening": Dishes(192, seed=12, uncoursed=range(174, 184)),
    }
    trainer = MenuTrainer(
        CourseModel(),
        settings,
        train_dataset=Dishes(args.dishes, seed=10),
        eval_dataset=validation,
        compute_metrics=course_accuracy,
        callbacks=[Kitchen(args.pause)],
    )
    trainer.train()
    if trainer.is_world_process_zero():
        print(describe(trainer.state))


if __name__ == "__main__":
    main()
