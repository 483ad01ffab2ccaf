import logging

from transformers import TrainerCallback

logger = logging.getLogger(__name__)


class CanaryAudit(TrainerCallback):
    """Asks the model about a fixed set of samples and keeps the accuracies.

    Process 0 already logs and saves, so the audit has a process of its own.
    """

    def __init__(self, samples, every=16, process=1):
        self.samples = samples
        self.every = every
        self.process = process
        self.trainer = None
        self.accuracies = []

    def bind(self, trainer):
        self.trainer = trainer
        trainer.add_callback(self)
        return self

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step % self.every or args.process_index != self.process:
            return control
        answer = self.trainer.predict(self.samples)
        right = (answer.predictions.argmax(-1) == answer.label_ids).mean()
        self.accuracies.append(float(right))
        logger.warning("step %d: audit %.3f", state.global_step, right)
        return control
