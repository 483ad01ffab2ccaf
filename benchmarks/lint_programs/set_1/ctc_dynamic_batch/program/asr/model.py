import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class CTCModel(nn.Module):
    def __init__(self, input_dim, vocab_size, hidden, layers):
        super().__init__()
        self.sub = nn.Sequential(
            nn.Conv1d(input_dim, hidden, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv1d(hidden, hidden, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.rnn = nn.LSTM(hidden, hidden, layers, batch_first=True, bidirectional=True, dropout=0.1)
        self.out = nn.Linear(2 * hidden, vocab_size)
        self.ctc = nn.CTCLoss(blank=0, reduction="sum", zero_infinity=True)

    def forward(self, feats, feat_lens, labels, label_lens):
        x = self.sub(feats.transpose(1, 2)).transpose(1, 2)
        lens = (feat_lens + 3) // 4
        packed = pack_padded_sequence(x, lens.cpu(), batch_first=True)
        x, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        logp = self.out(x).float().log_softmax(-1).transpose(0, 1)
        return self.ctc(logp, labels.clamp(min=0), lens, label_lens) / feats.size(0)
