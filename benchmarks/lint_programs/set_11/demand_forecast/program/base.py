import lightning as L
import torch


class MeteredModule(L.LightningModule):
    """Common ground of our modules: one place for names and cadence of metrics."""

    stages = {"train": dict(on_step=True, on_epoch=False), "val": dict(on_step=False, on_epoch=True)}

    def report(self, stage: str, values: dict[str, torch.Tensor], size: int) -> None:
        named = {f"{stage}/{key}": value.detach() for key, value in values.items()}
        self.log_dict(named, batch_size=size, prog_bar=stage == "val", **self.stages[stage])

    def step(self, batch) -> dict[str, torch.Tensor]:
        raise NotImplementedError

    def training_step(self, batch, batch_idx):
        values = self.step(batch)
        self.report("train", values, size=batch[0].size(0))
        return values["loss"]

    def validation_step(self, batch, batch_idx):
        values = self.step(batch)
        self.report("val", values, size=batch[0].size(0))
