import logging
import time

import torch
from torch.utils.data import Dataset, SequentialSampler
from transformers import Trainer, TrainingArguments, set_seed

from modeling import FusionConfig, ListingClassifier

logger = logging.getLogger("listings")


class Listings(Dataset):
    """In the order of the dump. Photos are optional; imported catalogues come as blocks without any."""

    def __init__(self, n, cfg, imported=range(296, 304)):
        g = torch.Generator().manual_seed(30)
        self.title = torch.randint(0, cfg.vocab, (n, 12), generator=g)
        self.pixels = torch.randn(n, 9, cfg.patch_dim, generator=g)
        self.label = torch.randint(0, cfg.n_categories, (n,), generator=g)
        self.photo = torch.arange(n) % 4 != 3
        self.photo[list(imported)] = False

    def __len__(self):
        return len(self.title)

    def __getitem__(self, i):
        return {"title": self.title[i], "pixels": self.pixels[i] * self.photo[i], "has_photo": self.photo[i],
                "labels": self.label[i]}


class ListingTrainer(Trainer):
    def _get_train_sampler(self, train_dataset=None):
        # the dump is sorted by time; keep it
        return SequentialSampler(train_dataset if train_dataset is not None else self.train_dataset)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        out = model(**inputs)
        time.sleep(0.02)
        return (out["loss"], out) if return_outputs else out["loss"]


def build_args():
    return TrainingArguments(
        output_dir="/tmp/listings_out", use_cpu=True, ddp_backend="gloo", per_device_train_batch_size=8,
        num_train_epochs=1, learning_rate=1e-3, logging_steps=1, save_strategy="no", report_to="none",
        disable_tqdm=True, remove_unused_columns=False, ddp_find_unused_parameters=False,
        average_tokens_across_devices=False,
    )


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    set_seed(5)
    cfg = FusionConfig()
    trainer = ListingTrainer(model=ListingClassifier(cfg), args=build_args(), train_dataset=Listings(960, cfg))
    result = trainer.train()
    logger.info("finished after %d steps", result.global_step)
    trainer.save_model()
