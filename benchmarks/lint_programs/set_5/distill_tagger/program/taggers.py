import torch.nn as nn


class Tagger(nn.Module):
    def __init__(self, vocab, tags, dim, layers, heads=4, dropout=0.1):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(dim, tags)

    def encode(self, words):
        return self.body(self.embed(words), src_key_padding_mask=words == 0)

    def forward(self, words):
        return self.out(self.encode(words))

    def with_states(self, words):
        """Logits together with the last hidden states."""
        states = self.encode(words)
        return self.out(states), states


class Student(Tagger):
    def __init__(self, vocab, tags, dim, layers, teacher_dim, **kwargs):
        super().__init__(vocab, tags, dim, layers, **kwargs)
        self.to_teacher = nn.Linear(dim, teacher_dim)

    def with_states(self, words):
        logits, states = super().with_states(words)
        return logits, self.to_teacher(states)
