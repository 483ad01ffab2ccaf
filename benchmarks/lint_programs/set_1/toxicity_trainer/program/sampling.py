import numpy as np
import torch
from torch.utils.data import DataLoader, WeightedRandomSampler
from transformers import Trainer


def row_weights(labels: np.ndarray, power: float = 0.5, ceiling: float = 20.0) -> torch.Tensor:
    """One weight per row: the largest inverse frequency among its labels, tempered and capped."""
    freq = labels.mean(axis=0).clip(min=1e-6)
    inverse = (1.0 / freq) ** power
    weights = (labels * inverse).max(axis=1)
    weights[labels.sum(axis=1) == 0] = 1.0
    return torch.as_tensor(np.minimum(weights, ceiling), dtype=torch.double)


class BalancedTrainer(Trainer):
    def __init__(self, *args, pos_weight=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.pos_weight = pos_weight

    def get_train_dataloader(self):
        dataset = self.train_dataset
        generator = torch.Generator()
        generator.manual_seed(self.args.data_seed or self.args.seed)
        sampler = WeightedRandomSampler(
            row_weights(dataset.label_matrix()),
            num_samples=len(dataset),
            replacement=True,
            generator=generator,
        )
        loader = DataLoader(
            dataset,
            batch_size=self._train_batch_size,
            sampler=sampler,
            collate_fn=self.data_collator,
            drop_last=True,
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory,
        )
        return loader

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        weight = None if self.pos_weight is None else self.pos_weight.to(labels.device)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            outputs.logits.float(), labels, pos_weight=weight
        )
        outputs["loss"] = loss
        return (loss, outputs) if return_outputs else loss
