import logging
import math

import torch
from torch import nn

log = logging.getLogger("plates")


class Recognizer(nn.Module):
    def __init__(self, height, width, classes):
        super().__init__()
        self.rnn = nn.GRU(height, width, bidirectional=True, batch_first=True)
        self.head = nn.Linear(2 * width, classes)

    def forward(self, images):
        columns, _ = self.rnn(images.transpose(1, 2))
        return self.head(columns).log_softmax(-1)


class Engine:
    def __init__(self, model, optimizer, max_norm=5.0):
        self.model = model
        self.optimizer = optimizer
        self.criterion = nn.CTCLoss()
        self.max_norm = max_norm
        self.history = []

    def update(self, images, texts, lengths):
        scores = self.model(images)
        columns = torch.full((len(images),), scores.shape[1])
        loss = self.criterion(scores.transpose(0, 1), texts, columns, lengths)
        value = loss.item()
        if math.isinf(value) or math.isnan(value):
            log.warning("loss is %s, batch ignored", value)
            self.optimizer.zero_grad()
            return False
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.optimizer.step()
        self.history.append(value)
        return True
