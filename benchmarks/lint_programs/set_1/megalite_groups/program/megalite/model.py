import torch
import torch.nn as nn
import torch.nn.functional as F

from megalite import parallel_state as mpu
from megalite.layers import ColumnParallelLinear, RowParallelLinear


class ParallelTransformerLayer(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.local_heads = heads // mpu.get_tensor_model_parallel_world_size()
        self.head_dim = hidden // heads
        self.input_layernorm = nn.LayerNorm(hidden)
        self.query = ColumnParallelLinear(hidden, hidden)
        self.key = ColumnParallelLinear(hidden, hidden)
        self.value = ColumnParallelLinear(hidden, hidden)
        self.dense = RowParallelLinear(hidden, hidden)
        self.post_attention_layernorm = nn.LayerNorm(hidden)
        self.dense_h_to_4h = ColumnParallelLinear(hidden, 4 * hidden)
        self.dense_4h_to_h = RowParallelLinear(4 * hidden, hidden)

    def _heads(self, x):
        b, s, _ = x.shape
        return x.view(b, s, self.local_heads, self.head_dim).transpose(1, 2)

    def forward(self, x):
        h = self.input_layernorm(x)
        q, k, v = (self._heads(m(h)) for m in (self.query, self.key, self.value))
        h = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.dense(h.transpose(1, 2).flatten(2))
        h = F.gelu(self.dense_h_to_4h(self.post_attention_layernorm(x)))
        return x + self.dense_4h_to_h(h)


class GPTModel(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.word_embeddings = nn.Embedding(args.vocab_size, args.hidden_size)
        self.position_embeddings = nn.Embedding(args.seq_length, args.hidden_size)
        self.layers = nn.ModuleList(
            ParallelTransformerLayer(args.hidden_size, args.num_attention_heads)
            for _ in range(args.num_layers))
        self.final_layernorm = nn.LayerNorm(args.hidden_size)
        for emb in (self.word_embeddings, self.position_embeddings):
            nn.init.normal_(emb.weight, std=0.02)

    def forward(self, tokens, labels):
        pos = torch.arange(tokens.size(1), device=tokens.device)
        x = self.word_embeddings(tokens) + self.position_embeddings(pos)
        for layer in self.layers:
            x = layer(x)
        logits = F.linear(self.final_layernorm(x), self.word_embeddings.weight)
        return F.cross_entropy(logits.float().flatten(0, 1), labels.flatten())
