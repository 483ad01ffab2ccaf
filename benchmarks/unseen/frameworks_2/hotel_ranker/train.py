"""Two-task hotel recommender (click and stay length, ranking within a session) on transformers.Trainer."""
import logging
import sys

import torch
from torch.utils.data import DataLoader
from transformers import HfArgumentParser, TrainingArguments

from sessions import SessionLog, collate_sessions
from tower import HotelTower
from multitask import MultiTaskTrainer


class LocalLogTrainer(MultiTaskTrainer):
    """Reads the partition of the click log that belongs to this process, in the order of time."""

    def get_train_dataloader(self):
        return DataLoader(self.train_dataset, batch_size=self.args.train_batch_size, shuffle=False,
                          drop_last=True, collate_fn=self.data_collator)


DEFAULTS = [
    "--output_dir", "/tmp/hotel_ranker", "--use_cpu", "--max_steps", "60", "--logging_steps", "5",
    "--per_device_train_batch_size", "8", "--learning_rate", "0.003", "--save_strategy", "no",
    "--report_to", "none", "--disable_tqdm", "true", "--remove_unused_columns", "false",
    "--ddp_find_unused_parameters", "false", "--average_tokens_across_devices", "false",
]


def main(argv):
    args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(DEFAULTS + argv)
    logging.basicConfig(level=logging.INFO if args.process_index == 0 else logging.WARNING)
    torch.manual_seed(8)
    trainer = LocalLogTrainer(
        model=HotelTower(),
        args=args,
        train_dataset=SessionLog(partition=args.process_index),
        data_collator=collate_sessions,
    )
    outcome = trainer.train()
    trainer.accelerator.wait_for_everyone()
    if trainer.is_world_process_zero():
        logging.info("done: %s", outcome.metrics)


if __name__ == "__main__":
    main(sys.argv[1:])
