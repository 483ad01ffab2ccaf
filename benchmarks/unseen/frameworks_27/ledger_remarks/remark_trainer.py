"""Trainer that reads the books from front to back."""
import torch
from torch.utils.data import SequentialSampler
from transformers import Trainer


class RemarkTrainer(Trainer):
    def _get_train_sampler(self, train_dataset=None):
        # no shuffling: the handwriting changes slowly
        return SequentialSampler(train_dataset if train_dataset is not None else self.train_dataset)

    def training_step(self, model, inputs, num_items_in_batch=None):
        tagged = (inputs["labels"] != -100).sum()
        if tagged == 0:
            # cross_entropy over nothing is nan and would spoil the weights
            return torch.zeros((), device=self.args.device)
        return super().training_step(model, inputs, num_items_in_batch)
