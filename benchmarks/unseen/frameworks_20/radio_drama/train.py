"""Who speaks in old radio plays: a classifier trained with the Trainer from a stream of the archive."""

import argparse
import tempfile

import torch
from torch import nn
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

from stream import FEATURES, SPEAKERS, DramaStream


class SpeakerModel(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(FEATURES, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU())
        self.head = nn.Linear(hidden, SPEAKERS)

    def forward(self, sound, labels=None):
        logits = self.head(self.body(sound))
        if labels is None:
            return {"logits": logits}
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class Announcer(TrainerCallback):
    """Tells the mean loss on the main process."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        if state.is_world_process_zero and logs and "loss" in logs:
            print(f"step {state.global_step}: {float(logs['loss']):.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plays", type=int, default=40)
    parser.add_argument("--lines", type=int, default=80)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(9)
    with tempfile.TemporaryDirectory(prefix="drama") as folder:
        training = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=args.batch,
            max_steps=args.steps,
            learning_rate=2e-3,
            logging_steps=20,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            ddp_backend="gloo",
            disable_tqdm=True,
            remove_unused_columns=False,
        )
        trainer = Trainer(
            model=SpeakerModel(args.hidden),
            args=training,
            train_dataset=DramaStream(args.plays, args.lines),
            callbacks=[Announcer()],
        )
        result = trainer.train()
        if trainer.is_world_process_zero():
            print(f"trained for {result.global_step} steps", flush=True)


if __name__ == "__main__":
    main()
