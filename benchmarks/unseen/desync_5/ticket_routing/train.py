"""Which team a ticket goes to; Lightning, with the desks dealt out to the processes."""

import lightning as L
import torch
from torch import nn

from data import TEAMS, WIDTH, TicketData


class Router(L.LightningModule):
    def __init__(self, width=64, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.network = nn.Sequential(
            nn.Linear(WIDTH, width),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Linear(width, TEAMS),
        )
        self.loss = nn.CrossEntropyLoss(label_smoothing=0.05)

    def forward(self, text):
        return self.network(text)

    def training_step(self, batch, batch_idx):
        text, team = batch
        return self.loss(self(text), team)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        return [optimizer], [schedule]


class Progress(L.Callback):
    """A line for each epoch, instead of a bar."""

    def __init__(self):
        self.losses = []

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.losses.append(float(outputs["loss"]))

    def on_train_epoch_end(self, trainer, module):
        if trainer.is_global_zero:
            mean = sum(self.losses) / len(self.losses)
            print(f"epoch {trainer.current_epoch}: {mean:.3f} ({len(self.losses)} batches)", flush=True)
        self.losses.clear()


def main():
    torch.set_num_threads(1)
    L.seed_everything(21, verbose=False)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=4,
        strategy="ddp",
        max_epochs=6,
        use_distributed_sampler=False,
        callbacks=[Progress()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Router(), datamodule=TicketData())
    trainer.save_checkpoint("/dev/null")


if __name__ == "__main__":
    main()
