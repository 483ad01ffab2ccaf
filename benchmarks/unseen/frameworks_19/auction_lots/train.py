"""What will a lot bring? With the Trainer of transformers, on two processes that share a scanner."""

import argparse
import os
import shutil
import tempfile
from pathlib import Path

import torch
from transformers import Trainer, TrainingArguments, set_seed

from hall import PrintEstimates, TellBidders
from lots import Lots, PriceModel, prepare_catalogue


def shared_folder():
    """One folder for all processes of the job."""
    folder = Path(tempfile.gettempdir(), f"auction-{os.environ.get('TORCHELASTIC_RUN_ID', os.getpid())}")
    folder.mkdir(exist_ok=True)
    return folder


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lots", type=int, default=640)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--pages", type=int, default=9)
    parser.add_argument("--warm-up", type=float, default=1.6)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(30)
    folder = shared_folder()
    training = TrainingArguments(
        output_dir=str(folder / "out"),
        use_cpu=True,
        per_device_train_batch_size=args.batch,
        num_train_epochs=args.epochs,
        learning_rate=args.lr,
        eval_strategy="epoch",
        save_strategy="no",
        logging_steps=40,
        dataloader_num_workers=1,
        report_to=[],
        disable_tqdm=True,
    )
    with training.main_process_first(desc="catalogue"):
        catalogue = prepare_catalogue(folder)
    trainer = Trainer(
        model=PriceModel(),
        args=training,
        train_dataset=Lots(folder, args.lots, seed=1, warm_up=args.warm_up),
        eval_dataset=Lots(folder, 120, seed=2),
        callbacks=[PrintEstimates(args.pages), TellBidders(every=10, writing=1.1)],
    )
    trainer.train()
    trainer.accelerator.wait_for_everyone()
    if trainer.is_world_process_zero():
        print(f"{len(catalogue)} lots in the catalogue", flush=True)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
