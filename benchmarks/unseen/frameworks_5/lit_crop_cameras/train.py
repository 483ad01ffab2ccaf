import os
import tempfile

import lightning as L

from data import Fields
from module import WeedSegmenter


def main():
    L.seed_everything(12)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=int(os.environ.get("WORLD_SIZE", 1)),
        strategy="ddp",
        max_epochs=1,
        use_distributed_sampler=False,  # each process has the recording of a tractor
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        default_root_dir=tempfile.gettempdir(),
    )
    trainer.fit(WeedSegmenter(), datamodule=Fields())


if __name__ == "__main__":
    main()
