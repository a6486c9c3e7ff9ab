"""The modules of torch.nn that programs are built of: how each is made, and what calling it gives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

_LAYERS = """
linear       | A | nn.Linear(3, 3)                     | {m}({A})
linear       | A | nn.Linear(3, 3, bias=False)         | {m}({A})
linear       | V | nn.Linear(3, 3)                     | {m}({V})
linear       | S | nn.Linear(3, 1)                     | {m}({A}).mean()
linear       | S | nn.Linear(3, 1)                     | {m}({V}).squeeze()
bilinear     | A | nn.Bilinear(3, 3, 3)                | {m}({A}, {A})
convolution  | A | nn.Conv1d(3, 3, 1)                  | {m}({A}.t().unsqueeze(0)).squeeze(0).t()
convolution  | S | nn.Conv2d(1, 2, 2)                  | {m}({A}.reshape(1, 1, 4, 3)).mean()
convolution  | S | nn.ConvTranspose1d(3, 2, 1)         | {m}({A}.t().unsqueeze(0)).sum()
embedding    | A | nn.Embedding(5, 3)                  | {m}(index)
layer_norm   | A | nn.LayerNorm(3)                     | {m}({A})
layer_norm   | A | nn.LayerNorm(3, elementwise_affine=False) | {m}({A})
batch_norm   | A | nn.BatchNorm1d(3)                   | {m}({A})
group_norm   | A | nn.GroupNorm(1, 3)                  | {m}({A})
prelu        | A | nn.PReLU()                          | {m}({A})
dropout      | A | nn.Dropout(0.5)                     | {m}({A})
dropout      | A | nn.Dropout(p=0.0)                   | {m}({A})
relu         | A | nn.ReLU()                           | {m}({A})
leaky_relu   | A | nn.LeakyReLU(0.2)                   | {m}({A})
elu          | A | nn.ELU()                            | {m}({A})
gelu         | A | nn.GELU()                           | {m}({A})
silu         | A | nn.SiLU()                           | {m}({A})
softplus     | A | nn.Softplus()                       | {m}({A})
sigmoid      | A | nn.Sigmoid()                        | {m}({A})
log_sigmoid  | A | nn.LogSigmoid()                     | {m}({A})
tanh         | A | nn.Tanh()                           | {m}({A})
hardtanh     | A | nn.Hardtanh()                       | {m}({A})
softmax      | A | nn.Softmax(dim=1)                   | {m}({A})
log_softmax  | A | nn.LogSoftmax(dim=1)                | {m}({A})
alias        | A | nn.Identity()                       | {m}({A})
view         | S | nn.Flatten(0)                       | {m}({A}).sum()
max_pool     | S | nn.MaxPool2d(2)                     | {m}({A}.reshape(1, 1, 4, 3)).sum()
avg_pool     | S | nn.AvgPool2d(2)                     | {m}({A}.reshape(1, 1, 4, 3)).sum()
adaptive_pool_1 | V | nn.AdaptiveAvgPool1d(1)          | {m}({A}.t().unsqueeze(0)).flatten()
adaptive_pool | S | nn.AdaptiveAvgPool2d((2, 1))       | {m}({A}.reshape(1, 1, 4, 3)).sum()
pad_reflect  | S | nn.ReflectionPad1d(1)               | {m}({A}.reshape(1, 4, 3)).mean()
interpolate  | S | nn.Upsample(scale_factor=2)         | {m}({A}.reshape(1, 3, 2, 2)).mean()
pixel_shuffle | A | nn.PixelShuffle(2)                 | {m}({A}.reshape(1, 4, 1, 3)).reshape(4, 3)
linear tanh  | A | nn.RNN(3, 3)                        | {m}({A})[0]
linear tanh  | A | nn.GRU(3, 3)                        | {m}({A})[0]
linear tanh  | A | nn.LSTM(3, 3)                       | {m}({A})[0]
linear tanh  | A | nn.RNNCell(3, 3)                    | {m}({A}, {A})
linear tanh  | A | nn.GRUCell(3, 3)                    | {m}({A}, {A})
linear tanh  | A | nn.LSTMCell(3, 3)                   | {m}({A})[0]
linear tanh  | A | nn.LSTMCell(3, 3)                   | {m}({A}, ({A}, {A}))[1]
mse_loss     | S | nn.MSELoss()                        | {m}({A}, target)
mse_loss     | S | nn.MSELoss()                        | {m}({A}, {A})
l1_loss      | S | nn.L1Loss()                         | {m}({A}, target)
smooth_l1_loss | S | nn.SmoothL1Loss()                 | {m}({A}, target)
huber_loss   | S | nn.HuberLoss()                      | {m}({A}, target)
nll_loss     | S | nn.CrossEntropyLoss()               | {m}({A}, labels)
nll_loss     | S | nn.NLLLoss()                        | {m}({A}.log_softmax(1), labels)
bce_loss     | S | nn.BCELoss()                        | {m}({A}.sigmoid(), binary)
bce_logits_loss | S | nn.BCEWithLogitsLoss()           | {m}({A}, binary)
kl_div       | S | nn.KLDivLoss(reduction="batchmean") | {m}({A}.log_softmax(dim=1), binary)
"""

WITH_WEIGHTS = ("Linear", "Bilinear", "Conv", "Embedding", "Norm", "PReLU", "RNN", "GRU", "LSTM")
LIGHT = ("Identity", "Flatten", "AdaptiveAvgPool1d(1)", "Upsample", "PixelShuffle", "Dropout(p=0.0)")


@dataclass(frozen=True)
class Layer:
    """How a module is made, and the template of a call of it, `{m}` being the module."""

    rows: tuple[str, ...]
    shape: str
    made: str
    call: str

    @property
    def owns_weights(self) -> bool:
        affine = "affine=False" not in self.made
        return affine and any(kind in self.made for kind in WITH_WEIGHTS)

    @property
    def light(self) -> bool:
        return any(kind in self.made for kind in LIGHT)


@cache
def layers() -> tuple[Layer, ...]:
    """Every layer of the table."""
    found = []
    for line in _LAYERS.strip().splitlines():
        rows, shape, made, call = (part.strip() for part in line.split(" | "))
        found.append(Layer(tuple(rows.split()), shape, made, call))
    return tuple(found)


def stackable() -> tuple[Layer, ...]:
    """Those that a Sequential can hold: (4, 3) in, (4, 3) out, nothing else."""
    return tuple(layer for layer in layers() if layer.call == "{m}({A})" and layer.shape == "A")


def weighted() -> tuple[Layer, ...]:
    return tuple(layer for layer in layers() if layer.owns_weights)
