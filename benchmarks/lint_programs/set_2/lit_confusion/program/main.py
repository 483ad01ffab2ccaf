import lightning as L
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from torch.utils.data import DataLoader
from torchvision import transforms as T
from torchvision.datasets import ImageFolder

from lit_model import LeafClassifier


class LeafData(L.LightningDataModule):
    def __init__(self, root, batch_size=64, workers=8):
        super().__init__()
        self.root, self.batch_size, self.workers = root, batch_size, workers

    def setup(self, stage=None):
        norm = T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
        aug = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), norm])
        plain = T.Compose([T.Resize(256), T.CenterCrop(224), T.ToTensor(), norm])
        self.train_ds = ImageFolder(f"{self.root}/train", aug)
        self.val_ds = ImageFolder(f"{self.root}/val", plain)

    def train_dataloader(self):
        return DataLoader(
            self.train_ds, self.batch_size, shuffle=True, num_workers=self.workers, drop_last=True
        )

    def val_dataloader(self):
        return DataLoader(self.val_ds, self.batch_size, num_workers=self.workers)


if __name__ == "__main__":
    L.seed_everything(3, workers=True)
    ckpt = ModelCheckpoint(monitor="val/f1", mode="max", save_last=True)
    trainer = L.Trainer(
        accelerator="gpu",
        devices=4,
        strategy="ddp",
        precision="16-mixed",
        max_epochs=40,
        sync_batchnorm=True,
        callbacks=[ckpt, LearningRateMonitor()],
    )
    trainer.fit(LeafClassifier(), datamodule=LeafData("data/leaves"))
