from __future__ import annotations

import time

import lightning as L
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class IntentTagger(L.LightningModule):
    """Intent of an utterance and, where it was annotated, its topic."""

    def __init__(self, vocab: int = 400, intents: int = 6, topics: int = 4, dim: int = 32) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.EmbeddingBag(vocab, dim), nn.Linear(dim, dim), nn.Tanh())
        self.intent_head = nn.Linear(dim, intents)
        self.topic_head = nn.Linear(dim, topics)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        h = self.body(tokens)
        return self.intent_head(h), self.topic_head(h)

    def training_step(self, batch: dict[str, Tensor], batch_idx: int) -> Tensor:
        intent, topic = self(batch["tokens"])
        labelled = batch["topic"] >= 0
        loss = F.cross_entropy(intent, batch["intent"])
        topic_nll = F.cross_entropy(topic, batch["topic"].clamp(min=0), reduction="none")
        loss = loss + 0.5 * (topic_nll * labelled).sum() / labelled.sum().clamp(min=1)
        self._track(intent.detach(), topic.detach(), batch, labelled)
        self.log("train/loss", loss, sync_dist=True, on_step=True, on_epoch=False)
        time.sleep(0.02)
        return loss

    def _track(self, intent: Tensor, topic: Tensor, batch: dict[str, Tensor], labelled: Tensor) -> None:
        scores = {"train/intent_acc": (intent.argmax(-1) == batch["intent"]).float().mean()}
        if labelled.any():
            hits = topic.argmax(-1) == batch["topic"]
            scores["train/topic_acc"] = hits[labelled].float().mean()
        for name, value in scores.items():
            self.log(name, value, sync_dist=True, on_step=True, on_epoch=False)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)
