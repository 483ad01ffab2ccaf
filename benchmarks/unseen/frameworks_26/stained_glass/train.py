"""Colours of mediaeval window glass with the Trainer; every checkpoint is packed for the workshop's handheld."""

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

from model import Glazier, Panes

log = logging.getLogger("glass")
HERE = os.path.dirname(os.path.abspath(__file__))


class Handheld(TrainerCallback):
    """Packs each checkpoint in a child process, which keeps numpy's memory out of the trainer's."""

    def __init__(self, step):
        self.step = step
        self.packed = []

    def on_save(self, args, state, control, **kwargs):
        if not state.is_world_process_zero:
            return
        checkpoint = os.path.join(args.output_dir, f"checkpoint-{state.global_step}")
        command = [sys.executable, os.path.join(HERE, "pack.py"), checkpoint, "--step", str(self.step)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        summary = child.stdout.read()
        notes = child.stderr.read().splitlines()
        if child.wait() != 0:
            log.warning("packing of %s failed: %s", checkpoint, notes[-1] if notes else "no reason given")
            return
        self.packed.append(json.loads(summary))
        log.info("%s: %d bytes, %d notes", checkpoint, self.packed[-1]["bytes"], len(notes))


class Pace(TrainerCallback):
    """Leaves the kiln's controller some time on the shared machine."""

    def on_step_end(self, args, state, control, **kwargs):
        time.sleep(0.03)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--panes", type=int, default=3600)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--save-every", type=int, default=70)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    set_seed(8)
    handheld = Handheld(step=0.02)
    trainer = Trainer(
        model=Glazier(args.width),
        args=TrainingArguments(
            output_dir=os.path.join(tempfile.gettempdir(), f"glass_{os.environ.get('MASTER_PORT', '0')}"),
            per_device_train_batch_size=8,
            num_train_epochs=args.epochs,
            learning_rate=1e-3,
            save_steps=args.save_every,
            save_total_limit=2,
            logging_steps=50,
            use_cpu=True,
            ddp_find_unused_parameters=False,
            report_to=[],
            disable_tqdm=True,
        ),
        train_dataset=Panes(args.panes, 1),
        eval_dataset=Panes(240, 2),
        callbacks=[Pace(), handheld],
    )
    trainer.train()
    loss = trainer.evaluate()["eval_loss"]
    if trainer.is_world_process_zero():
        log.info("loss %.3f, %d files for the handheld", loss, len(handheld.packed))


if __name__ == "__main__":
    main()
