import torch
from transformers import TrainerCallback


class ContrastProbe(TrainerCallback):
    """After an evaluation: how much do the answers change if the photographs get darker?"""

    def __init__(self, dataset, levels=(0.9, 0.7, 0.5)):
        self.photos = torch.stack([dataset[i]["pixels"] for i in range(24)])
        self.labels = torch.stack([dataset[i]["labels"] for i in range(24)])
        self.levels = levels
        self.trainer = None
        self.history = []

    def attach(self, trainer):
        self.trainer = trainer
        trainer.add_callback(self)

    @torch.no_grad()
    def darker(self, level):
        network = self.trainer.model_wrapped
        network.eval()
        out = network(pixels=self.photos * level, labels=self.labels)
        return (out["logits"].argmax(1) == self.labels).float().mean().item()

    def on_evaluate(self, args, state, control, **kwargs):
        if state.is_world_process_zero and state.epoch >= 3:
            self.history.append([round(self.darker(level), 3) for level in self.levels])
            print(f"step {state.global_step}: {self.history[-1]}", flush=True)
