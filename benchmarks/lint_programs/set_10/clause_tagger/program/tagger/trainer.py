from transformers import Trainer, TrainerCallback

from .samplers import BalancedSampler


class BalancedTrainer(Trainer):
    """Trainer whose batches are balanced over the classes."""

    def __init__(self, *args, train_labels=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.train_labels = train_labels

    def _get_train_sampler(self, *args, **kwargs):
        if self.train_labels is None:
            return super()._get_train_sampler(*args, **kwargs)
        return BalancedSampler(
            self.train_labels,
            num_replicas=self.args.world_size,
            rank=self.args.process_index,
            seed=self.args.seed,
        )


class BestMetricPrinter(TrainerCallback):
    def __init__(self, key):
        self.key = key
        self.best = float("-inf")

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        value = (metrics or {}).get(self.key)
        if value is None:
            return
        self.best = max(self.best, value)
        if state.is_world_process_zero:
            print(f"step {state.global_step}: {self.key} {value:.4f} (best {self.best:.4f})")
