"""The transformer that record-deepspeed.py and record-nanotron.py train."""

from torch import nn
from torch.nn.functional import gelu, scaled_dot_product_attention


class Layer(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.norm, self.second_norm = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        batch, length, hidden = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, hidden // 128, 128).permute(2, 0, 3, 1, 4)
        attended = scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, hidden))
        return x + self.down(gelu(self.up(self.second_norm(x))))


class Head(nn.Module):
    def __init__(self, hidden, vocabulary):
        super().__init__()
        self.norm, self.out = nn.LayerNorm(hidden), nn.Linear(hidden, vocabulary, bias=False)

    def forward(self, x):
        return self.out(self.norm(x))
