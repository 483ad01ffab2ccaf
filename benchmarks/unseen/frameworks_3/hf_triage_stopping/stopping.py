import math

import torch
from transformers import TrainerCallback


class SiteHoldoutStopping(TrainerCallback):
    """Stops when the held-out cases of this site have not improved for `patience` checks.

    The holdout of a site may not leave the site, so it is scored where it lies.
    """

    def __init__(self, holdout, every=5, patience=4, min_delta=0.0):
        self.x, self.y = holdout
        self.every, self.patience, self.min_delta = every, patience, min_delta
        self.best, self.bad_checks = math.inf, 0

    @torch.no_grad()
    def _score(self, model):
        was_training = model.training
        model.eval()
        value = model(self.x, self.y)["loss"].item()
        model.train(was_training)
        return value

    def on_step_end(self, args, state, control, model=None, **kwargs):
        if state.global_step % self.every:
            return control
        score = self._score(getattr(model, "module", model))
        if score < self.best - self.min_delta:
            self.best, self.bad_checks = score, 0
        else:
            self.bad_checks += 1
        if self.bad_checks >= self.patience:
            control.should_training_stop = True
        return control
