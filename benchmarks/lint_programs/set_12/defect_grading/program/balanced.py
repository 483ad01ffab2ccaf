import numpy as np
import torch
from torch.utils.data import DataLoader, WeightedRandomSampler
from transformers import Trainer


class BalancedTrainer(Trainer):
    """Trainer that draws the training samples with a weight for every class."""

    def get_train_dataloader(self):
        dataset = self.train_dataset
        generator = torch.Generator().manual_seed(self.args.seed)
        sampler = WeightedRandomSampler(dataset.sample_weights(), num_samples=len(dataset),
                                        replacement=True, generator=generator)
        loader = DataLoader(
            dataset,
            batch_size=self._train_batch_size,
            sampler=sampler,
            collate_fn=self.data_collator,
            drop_last=self.args.dataloader_drop_last,
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory,
        )
        return loader


def macro_f1(eval_pred):
    logits, labels = eval_pred
    pred = np.argmax(logits, axis=-1)
    scores = []
    for c in range(logits.shape[-1]):
        tp = np.sum((pred == c) & (labels == c))
        fp = np.sum((pred == c) & (labels != c))
        fn = np.sum((pred != c) & (labels == c))
        if tp + fn:
            scores.append(2 * tp / (2 * tp + fp + fn))
    return {"macro_f1": float(np.mean(scores)), "accuracy": float(np.mean(pred == labels))}
