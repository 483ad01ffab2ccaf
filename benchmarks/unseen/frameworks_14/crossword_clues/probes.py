"""Extra sets on which a model is tried during training."""

import logging

from transformers import TrainerCallback

log = logging.getLogger("probes")


class Probe:
    """One extra set, and how the model did on it so far."""

    def __init__(self, name, dataset):
        self.name = name
        self.dataset = dataset
        self.course = []

    def try_out(self, trainer):
        metrics = trainer.evaluate(self.dataset, metric_key_prefix=self.name)
        self.course.append(metrics[f"{self.name}_accuracy"])
        return self.course[-1]


class ProbeCallback(TrainerCallback):
    """Tries the probes once the model has become good at the ordinary clues, and keeps a diary of it.

    The diary is one file, so only the main process writes it.
    """

    def __init__(self, probes, after):
        self.probes = probes
        self.after = after
        self.trainer = None

    def attach(self, trainer):
        self.trainer = trainer
        trainer.add_callback(self)

    def note(self, epoch):
        for probe in self.probes:
            accuracy = probe.try_out(self.trainer)
            log.info("epoch %d, %s: %.3f (best %.3f)", epoch, probe.name, accuracy, max(probe.course))

    def on_epoch_end(self, args, state, control, **kwargs):
        if round(state.epoch) >= self.after and state.is_world_process_zero:
            self.note(round(state.epoch))
