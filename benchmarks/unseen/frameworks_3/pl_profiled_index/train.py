import pathlib
import tempfile
import time

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

from index import build_phrase_index, load_phrase_index

WORK = pathlib.Path(tempfile.gettempdir()) / "phrase_index"


class Phrases(Dataset):
    def __init__(self, index, n=288):
        self.keys, self.n = sorted(index), n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        for _ in range(3):               # the feature server answers in small pieces
            time.sleep(0.004)
        g = torch.Generator().manual_seed(i)
        return torch.randint(0, 64, (10,), generator=g), i % 4


class PhraseData(L.LightningDataModule):
    def prepare_data(self):
        WORK.mkdir(exist_ok=True)
        build_phrase_index(WORK / "lookup.json")

    def setup(self, stage):
        self.index = load_phrase_index(WORK / "lookup.json")

    def train_dataloader(self):
        return DataLoader(Phrases(self.index), batch_size=8, num_workers=1, shuffle=True)


class Tagger(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.emb = nn.EmbeddingBag(64, 24)
        self.out = nn.Linear(24, 4)

    def training_step(self, batch, _):
        ids, y = batch
        loss = F.cross_entropy(self.out(self.emb(ids)), y)
        self.log("loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class TraceReport(L.Callback):
    """Times every step; the last process sorts the traces into a page when everything is over."""

    def __init__(self):
        self.began, self.rows = None, []

    def on_train_batch_start(self, *args):
        self.began = time.perf_counter()

    def on_train_batch_end(self, *args):
        self.rows.append(time.perf_counter() - self.began)

    def render(self, path):
        lines = []
        for n, seconds in enumerate(self.rows):
            time.sleep(0.25)
            lines.append(f"<tr><td>{n}</td><td>{seconds * 1e3:.2f} ms</td></tr>")
        path.write_text("<table>\n" + "\n".join(lines) + "\n</table>")


def main():
    L.seed_everything(9, verbose=False)
    traces = TraceReport()
    trainer = L.Trainer(accelerator="cpu", devices=3, strategy="ddp", max_epochs=2, logger=False, callbacks=[traces],
                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Tagger(), datamodule=PhraseData())
    rank, world = trainer.global_rank, trainer.world_size
    torch.distributed.destroy_process_group()
    if rank == world - 1:
        traces.render(WORK / "trace.html")


if __name__ == "__main__":
    main()
