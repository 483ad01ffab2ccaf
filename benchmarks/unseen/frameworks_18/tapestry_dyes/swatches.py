"""A strip of swatches in the log: what the model makes of a fixed set of samples while it learns."""

import logging

import torch
from transformers import TrainerCallback

from dyes import DYES

log = logging.getLogger("swatches")


class SwatchStrip(TrainerCallback):
    """Prints the predicted dye of each swatch at the end of an epoch, on the main process."""

    def __init__(self, samples):
        self.spectra = torch.stack([row["spectrum"] for row in samples])
        self.known = torch.stack([row["labels"] for row in samples])
        self.trainer = None

    def attach(self, trainer):
        self.trainer = trainer
        trainer.add_callback(self)
        return self

    def on_epoch_end(self, args, state, control, **kwargs):
        if not state.is_world_process_zero:
            return
        named = self.look(self.trainer.model_wrapped)
        right = (named == self.known).sum().item()
        strip = " ".join(DYES[i][:2] for i in named.tolist())
        log.info("step %d: %d of %d right: %s", state.global_step, right, len(named), strip)

    @torch.no_grad()
    def look(self, model):
        was_training = model.training
        model.eval()
        named = model(spectrum=self.spectra)["logits"].argmax(-1)
        model.train(was_training)
        return named
