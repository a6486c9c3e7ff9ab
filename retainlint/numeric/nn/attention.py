"""Attention with several heads, and the encoder made of it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from retainlint.numeric.creation import empty
from retainlint.numeric.lacking import LackingUse
from retainlint.numeric.nn import functional as F
from retainlint.numeric.nn import init
from retainlint.numeric.nn.containers import ModuleList
from retainlint.numeric.nn.layers import Dropout, LayerNorm, Linear
from retainlint.numeric.nn.module import Module, Parameter
from retainlint.numeric.operations.products import linear
from retainlint.numeric.tensor import Tensor


class MultiheadAttention(Module):
    """softmax(q k / sqrt(d)) v in several heads, with projections before and after."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
    ) -> None:
        super().__init__()
        if add_bias_kv or add_zero_attn or kdim not in (None, embed_dim) or vdim not in (None, embed_dim):
            raise LackingUse("torch.nn.MultiheadAttention with extra keys or other sizes")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim))
        self.register_parameter("in_proj_bias", Parameter(empty(3 * embed_dim)) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias)
        init.xavier_uniform_(self.in_proj_weight)
        if bias:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> Any:
        flat = query.array.ndim == 2
        if flat:
            query, key, value = (t.unsqueeze(1) for t in (query, key, value))
        elif self.batch_first:
            query, key, value = (t.transpose(0, 1) for t in (query, key, value))
        length, batch, size = query.array.shape
        weights = self.in_proj_weight.chunk(3)
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        q, k, v = (self._heads(linear(t, w, b)) for t, w, b in zip((query, key, value), weights, biases))
        scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(size // self.num_heads))
        for mask in (attn_mask, None if key_padding_mask is None else key_padding_mask[:, None, None, :]):
            if mask is not None:
                whole = mask.array.dtype.kind == "b"
                scores = scores.masked_fill(mask, -math.inf) if whole else scores + mask
        shares = F.dropout(scores.softmax(-1), self.dropout, self.training)
        joined = (shares @ v).permute(2, 0, 1, 3).reshape(length, batch, size)
        found = self.out_proj(joined)
        found = found.squeeze(1) if flat else found.transpose(0, 1) if self.batch_first else found
        if not need_weights:
            return found, None
        shown = shares.mean(1) if average_attn_weights else shares
        return found, shown.squeeze(0) if flat else shown

    def _heads(self, tensor: Tensor) -> Any:
        length, batch, size = tensor.array.shape
        return tensor.reshape(length, batch, self.num_heads, size // self.num_heads).permute(1, 2, 0, 3)


class TransformerEncoderLayer(Module):
    """Attention to itself, then two linear layers, each added to what came in."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self.linear1 = Linear(d_model, dim_feedforward, bias)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias)
        self.norm_first = norm_first
        self.norm1, self.norm2 = LayerNorm(d_model, layer_norm_eps), LayerNorm(d_model, layer_norm_eps)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        named: dict[str, Callable[..., Any]] = {"relu": F.relu, "gelu": F.gelu}
        self.activation = named[activation] if isinstance(activation, str) else activation

    def forward(
        self, src: Tensor, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False
    ) -> Any:
        def attend(x: Any) -> Any:
            return self.dropout1(self.self_attn(x, x, x, src_key_padding_mask, False, src_mask)[0])

        def feed(x: Any) -> Any:
            return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))

        if self.norm_first:
            x = src + attend(self.norm1(src))
            return x + feed(self.norm2(x))
        x = self.norm1(src + attend(src))
        return self.norm2(x + feed(x))


class TransformerEncoder(Module):
    """Several encoder layers."""

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None, **options: Any) -> None:
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(encoder_layer) for _ in range(num_layers))
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, src: Tensor, mask: Any = None, src_key_padding_mask: Any = None, is_causal: Any = None) -> Any:
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask)
        return src if self.norm is None else self.norm(src)
