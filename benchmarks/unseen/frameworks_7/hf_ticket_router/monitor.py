from transformers import TrainerCallback


class SpotCheck(TrainerCallback):
    """Print the accuracy on held-out tickets between the regular evaluations."""

    def __init__(self, first, every):
        self.first = first
        self.every = every
        self.history = []
        self.trainer = None

    def attach(self, trainer):
        self.trainer = trainer
        return self

    def _due(self, step):
        return step >= self.first and (step - self.first) % self.every == 0

    def on_step_end(self, args, state, control, **kwargs):
        if not state.is_local_process_zero:
            return control
        if self._due(state.global_step):
            scores = self.trainer.evaluate(metric_key_prefix="spot")
            self.history.append((state.global_step, scores["spot_accuracy"]))
            print(self.history[-1], flush=True)
        return control
