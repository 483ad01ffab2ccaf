"""Trains the price model with the Hugging Face Trainer (three processes)."""
import tempfile

from transformers import Trainer, TrainingArguments, set_seed

from data import Listings, collate
from model import ListingModel


def training_arguments():
    return TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="listings-"),
        use_cpu=True,
        num_train_epochs=1,
        per_device_train_batch_size=8,
        train_sampling_strategy="sequential",
        remove_unused_columns=False,
        # every parameter gets a gradient, so DDP need not search the graph in every step
        ddp_find_unused_parameters=False,
        logging_steps=5,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        learning_rate=3e-3,
    )


def main():
    args = training_arguments()
    set_seed(args.seed)
    trainer = Trainer(model=ListingModel(), args=args, data_collator=collate, train_dataset=Listings())
    outcome = trainer.train()
    if args.process_index == 0:
        print(outcome.metrics)


if __name__ == "__main__":
    main()
