from collections import Counter

import numpy as np
import torch
from torch.utils.data import DataLoader, WeightedRandomSampler
from transformers import Trainer


def inverse_frequency(labels, power=0.5):
    counts = Counter(labels)
    return np.array([counts[y] ** -power for y in labels], dtype=np.float64)


class ClassWeightedTrainer(Trainer):
    """Trainer that draws rare classes more often."""

    def __init__(self, *args, sample_power=0.5, **kwargs):
        super().__init__(*args, **kwargs)
        self.sample_power = sample_power

    def _weighted_sampler(self):
        weights = inverse_frequency(self.train_dataset["labels"], self.sample_power)
        gen = torch.Generator()
        gen.manual_seed(self.args.data_seed if self.args.data_seed is not None else self.args.seed)
        return WeightedRandomSampler(torch.from_numpy(weights), len(weights), replacement=True, generator=gen)

    def get_train_dataloader(self):
        dataset = self._remove_unused_columns(self.train_dataset, description="training")
        loader = DataLoader(
            dataset,
            batch_size=self._train_batch_size,
            sampler=self._weighted_sampler(),
            collate_fn=self.data_collator,
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory,
            drop_last=self.args.dataloader_drop_last,
        )
        return loader
