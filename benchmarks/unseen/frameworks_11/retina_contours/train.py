"""Grade and contour of retinal lesions with Lightning; each worker reads the archive of one clinic."""
import time

import lightning as L
import torch

from clinics import ClinicData
from network import LesionModule


def main():
    torch.set_num_threads(1)
    L.seed_everything(21)
    data = ClinicData(patients=1280, batch_size=8)
    module = LesionModule(lr=1e-3)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp",
        max_epochs=4,
        use_distributed_sampler=False,
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        gradient_clip_val=1.0,
    )
    started = time.monotonic()
    trainer.fit(module, datamodule=data)
    trainer.print(f"{time.monotonic() - started:.0f} s", trainer.callback_metrics)


if __name__ == "__main__":
    main()
