import json
import pathlib

from transformers import TrainerCallback


class MarginGuard(TrainerCallback):
    """Stops the run when the reward margin explodes or the accuracy no longer moves."""

    def __init__(self, path, patience=3, min_delta=0.002, max_margin=12.0):
        self.path = pathlib.Path(path)
        self.patience = patience
        self.min_delta = min_delta
        self.max_margin = max_margin
        self.best = float("-inf")
        self.bad = 0

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        if not state.is_world_process_zero:
            return control
        acc = metrics["eval_accuracy"]
        margin = metrics["eval_margin"]
        if acc > self.best + self.min_delta:
            self.best, self.bad = acc, 0
        else:
            self.bad += 1
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as f:
            f.write(json.dumps({"step": state.global_step, "acc": acc, "margin": margin, "bad": self.bad}) + "\n")
        if self.bad >= self.patience or margin > self.max_margin:
            control.should_training_stop = True
        return control
