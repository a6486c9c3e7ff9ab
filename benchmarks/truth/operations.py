"""What a training program may compute: templates typed by shape, each covering rows of the table of operations.

Shapes: A is (4, 3), an activation; M is (3, 3), a matrix; V is (3,), a vector; S is a scalar; T is any of them, the
same at each place. A row reads `rows | shape | template`, with `light` behind it where nothing is saved and `thin`
where the result's memory must not be written (siblings or repeated elements share it).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

SHAPES = ("A", "M", "V", "S")

_ELEMENTWISE = """
add         | T | {T} + {T}                                  | light
add         | A | {A} + {V}                                  | light
add         | T | torch.add({T}, {T})                        | light
add         | T | {T} + 0.5                                  | light
sub         | T | {T} - {T}                                  | light
sub         | T | {T}.sub({T})                               | light
rsub        | T | 1 - {T}                                    | light
neg         | T | -{T}                                       | light
mul         | T | {T} * {T}
mul         | A | {A} * {V}
mul         | T | {T} * {S}
mul         | T | {T} * 0.5
mul         | T | {T}.mul({T})
div         | T | {T} / 2
div abs     | T | {T} / ({T}.abs() + 1)
reciprocal  | T | 1 / ({T} * {T} + 1)
reciprocal  | T | ({T}.sigmoid() + 1).reciprocal()
pow         | T | {T} ** 2
pow         | T | {T}.pow(3)
pow         | T | torch.pow({T}, 2)
pow_tensor  | T | ({T}.abs() + 1) ** {T}
rpow        | T | 2 ** {T}
remainder   | T | {T} % 2                                    | light
remainder   | T | torch.remainder({T}, 3.0)                  | light
fmod        | T | torch.fmod({T}, 2.0)                       | light
floor       | T | torch.floor({T})                           | light
ceil        | T | {T}.ceil()                                 | light
round       | T | {T}.round()                                | light
trunc       | T | {T}.trunc()                                | light
sign        | T | {T}.sign()                                 | light
lerp        | T | torch.lerp({T}, {T}, 0.3)                  | light
lerp_tensor | T | torch.lerp({T}, {T}, {T})
addcmul     | T | torch.addcmul({T}, {T}, {T})
addcdiv     | T | torch.addcdiv({T}, {T}, {T}.exp())
maximum     | T | torch.maximum({T}, {T})
maximum     | T | torch.max({T}, {T})
minimum     | T | torch.minimum({T}, {T})
minimum     | T | {T}.minimum({T})
atan2       | T | torch.atan2({T}, {T})
exp         | T | {T}.exp()
exp         | T | torch.exp(-{T})
expm1       | T | torch.expm1({T})
log         | T | ({T}.abs() + 1).log()
log         | T | torch.log({T} ** 2 + 1)
log2        | T | torch.log2({T}.abs() + 1)
log10       | T | ({T}.abs() + 1).log10()
log1p       | T | torch.log1p({T} ** 2)
sqrt        | T | ({T} ** 2 + 1).sqrt()
rsqrt       | T | torch.rsqrt({T}.abs() + 1)
square      | T | {T}.square()
sin         | T | torch.sin({T})
cos         | T | {T}.cos()
tan         | T | torch.tan({T})
sinh        | T | torch.sinh({T})
cosh        | T | {T}.clamp(-3, 3).cosh()
asin        | T | torch.asin({T}.clamp(-0.9, 0.9))
acos        | T | ({T} * 0.1).acos()
atan        | T | {T}.atan()
abs         | T | {T}.abs()
clamp       | T | {T}.clamp(-1, 1)
clamp       | T | torch.clamp({T}, min=0.0)
relu        | T | F.relu({T})
relu        | T | torch.relu({T})
relu        | T | {T}.relu()
leaky_relu  | T | F.leaky_relu({T}, 0.1)
elu         | T | F.elu({T})
selu        | T | F.selu({T})
gelu        | T | F.gelu({T})
silu        | T | F.silu({T})
softplus    | T | F.softplus({T})
sigmoid     | T | torch.sigmoid({T})
sigmoid     | T | {T}.sigmoid()
log_sigmoid | T | F.logsigmoid({T})
tanh        | T | torch.tanh({T})
tanh        | T | {T}.tanh()
hardtanh    | T | F.hardtanh({T})
hardtanh    | T | F.relu6({T})
prelu       | A | F.prelu({A}, {V})
erf         | T | torch.erf({T})
dropout     | T | F.dropout({T}, 0.5)
dropout     | T | F.dropout({T}, 0.5, training=False)        | light
dropout     | T | F.dropout({T}, p=0.0)                      | light
clone       | T | {T}.clone()                                | light
to          | T | {T}.to(torch.float64).float()              | light
to          | T | {T}.double().to(torch.float32)             | light
alias       | T | {T}.view_as({T})                           | light
"""

_REDUCTIONS = """
sum         | S | {A}.sum()                                  | light
sum         | S | torch.sum({M})                             | light
sum         | V | {A}.sum(dim=0)                             | light
mean        | S | {A}.mean()                                 | light
mean        | S | {V}.mean()                                 | light
mean        | V | {A}.mean(0)                                | light
cumsum      | A | {A}.cumsum(dim=0)                          | light
trace       | S | {M}.trace()                                | light
max         | S | {A}.max()
max         | S | torch.max({V})
min         | S | {A}.min()
max_dim     | V | {A}.max(dim=0).values
max_dim     | V | {A}.max(dim=0)[0]
max_dim     | V | torch.max({M}, 1)[0]
min_dim     | V | torch.min({A}, dim=0).values
amax        | V | {A}.amax(dim=0)
amin        | S | {A}.amin()
median      | S | {A}.median()
prod        | S | {V}.prod()
var         | S | {A}.var()
std         | V | {A}.std(dim=0)
std         | S | torch.std({A})
norm        | S | {A}.norm()
norm        | S | torch.norm({M})
norm        | S | torch.linalg.norm({V})
logsumexp   | V | torch.logsumexp({A}, dim=0)
logsumexp   | V | {A}.logsumexp(0)
nansum      | S | torch.nansum({A})
sort        | A | {A}.sort(dim=0).values
sort        | V | torch.sort({V})[0]
topk        | S | {V}.topk(2).values.sum()
cumprod     | V | {V}.cumprod(0)
"""

_PRODUCTS = """
matmul      | A | {A} @ {M}
matmul      | M | {M} @ {M}
matmul      | V | {V} @ {M}
matmul      | A | torch.matmul({A}, {M})
matmul      | S | {V} @ {V}
mm          | A | torch.mm({A}, {M})
mm          | M | {A}.t().mm({A})
mv          | V | torch.mv({M}, {V})
mv          | V | {M} @ {V}
dot         | S | torch.dot({V}, {V})
dot         | S | {V}.dot({V})
bmm         | A | torch.bmm({A}.unsqueeze(0), {M}.unsqueeze(0)).squeeze(0)
addmm       | A | torch.addmm({A}, {A}, {M})
linear      | A | F.linear({A}, {M})
linear      | A | F.linear({A}, {M}, {V})
bilinear    | S | F.bilinear({A}, {A}, {M}.unsqueeze(0)).mean()
convolution | A | F.conv1d({A}.t().unsqueeze(0), {M}.unsqueeze(2)).squeeze(0).t()
embedding   | A | F.embedding(index, {M})
cross       | A | torch.cross({A}, {A}, dim=1)
cross       | V | torch.linalg.cross({V}, {V})
cdist       | S | torch.cdist({A}, {M}).sum()
bmm         | A | torch.einsum("ij,jk->ik", {A}, {M})
inverse     | M | torch.inverse(torch.diag({V}.abs() + 1))
solve       | M | torch.linalg.solve(torch.diag({V}.abs() + 1), {M})
logdet      | S | torch.logdet(torch.diag({V}.abs() + 1))
cholesky    | M | torch.linalg.cholesky(torch.diag({V}.abs() + 1))
mul         | M | torch.outer({V}, {V})
"""

_SHAPES = """
view        | V | {A}.contiguous().view(3, 4).sum(1)         | light
view        | S | {A}.contiguous().view(-1).sum()            | light
reshape     | A | {A}.reshape(2, 6).reshape(4, 3)            | light
t           | M | {M}.t()                                    | light
t           | M | {M}.T                                      | light
transpose   | M | {M}.transpose(0, 1)                        | light
permute     | M | {M}.permute(1, 0)                          | light
expand      | A | {V}.expand(4, 3)                           | light thin
expand      | V | {S}.expand(3)                              | light thin
repeat      | A | {V}.repeat(4, 1)                           | light
unsqueeze squeeze | A | {A}.unsqueeze(0).squeeze(0)          | light
flatten     | S | {A}.flatten().sum()                        | light
flatten     | V | torch.flatten({V})                         | light
select      | V | {A}[0]                                     | light
select      | V | {A}[-1]                                    | light
select      | S | {A}[0, 1]                                  | light
select      | S | {V}[1]                                     | light
select      | V | {A}.select(0, 2)                           | light
select      | V | {M}[:, 0]                                  | light
slice       | M | {A}[:3]                                    | light
slice       | M | {A}[1:]                                    | light
slice       | V | {A}[1:3].sum(0)                            | light
narrow      | M | {A}.narrow(0, 1, 3)                        | light
unbind stack | M | torch.stack({A}.unbind(0)[:3])            | light
split cat   | A | torch.cat({A}.split(2))                    | light
split       | V | torch.chunk({A}, 2)[0].sum(0)              | light
cat         | A | torch.cat([{A}[:2], {A}[2:]])              | light
cat         | A | torch.cat((torch.unsqueeze({V}, 0), {M}))  | light
stack       | V | torch.stack([{S}, {S}, {S}])               | light
stack       | M | torch.stack([{V}, {V}, {V}])               | light
stack       | A | torch.stack([{V}] * 4)                     | light
flip        | A | {A}.flip(0)                                | light
roll        | A | torch.roll({A}, 1, dims=0)                 | light
triu        | M | {M}.triu()                                 | light
tril        | M | torch.tril({M})                            | light
diag        | V | {M}.diag()                                 | light
diag        | M | torch.diag({V})                            | light
pad         | A | F.pad({A}, (1, 0))[:, :3]                  | light
pad_reflect | A | F.pad({A}.reshape(1, 1, 4, 3), (1, 1, 1, 1), mode="reflect")[0, 0, 1:5, 1:4]
interpolate | A | F.interpolate({A}.reshape(1, 3, 2, 2), scale_factor=2)[:, :, ::2, ::2].reshape(4, 3) | light
affine_grid | S | F.affine_grid({M}[:2].unsqueeze(0), (1, 1, 4, 3), align_corners=False).sum() | light
grid_sample | A | F.grid_sample({A}.reshape(1, 1, 4, 3), torch.sin({A}.repeat(1, 2)).reshape(1, 4, 3, 2), align_corners=False).reshape(4, 3)
pixel_shuffle | A | F.pixel_shuffle({A}.reshape(1, 4, 1, 3), 2).reshape(4, 3) | light
index       | A | {A}[index]
index       | M | {A}[[0, 2, 1]]
index       | S | {A}[mask].sum()
index_select | M | {A}.index_select(0, rows)
index_select | V | torch.index_select({V}, 0, rows)
gather      | A | {A}.gather(1, picks)
gather      | A | torch.gather({A}, 1, picks)
where       | A | torch.where(mask, {A}, {A})
where       | T | torch.where({T} > 0, {T}, {T})
masked_fill | A | {A}.masked_fill(mask, 0.0)
masked_select | S | torch.masked_select({A}, mask).mean()
index_put   | A | {A}.index_put((rows,), {M})
scatter     | A | {A}.scatter(1, picks, {A})
scatter_add | A | {A}.scatter_add(1, picks, {A})
"""

_LAYERS = """
softmax     | A | F.softmax({A}, dim=1)
softmax     | A | {A}.softmax(-1)
softmax     | V | torch.softmax({V}, 0)
log_softmax | A | F.log_softmax({A}, dim=-1)
log_softmax | A | torch.log_softmax({A}, 1)
layer_norm  | A | F.layer_norm({A}, (3,))
layer_norm  | A | F.layer_norm({A}, (3,), {V}, {V})
batch_norm  | A | F.batch_norm({A}, None, None, training=True)
group_norm  | A | F.group_norm({A}, 1)
avg_pool    | M | F.avg_pool2d({A}.reshape(1, 1, 4, 3), (2, 1), stride=1).reshape(3, 3)
max_pool    | M | F.max_pool2d({A}.reshape(1, 1, 4, 3), (2, 1), stride=1).reshape(3, 3)
adaptive_pool | V | F.adaptive_avg_pool2d({A}.t().reshape(1, 3, 2, 2), (1, 2)).sum(dim=(0, 3)).flatten()
adaptive_pool_1 | V | F.adaptive_avg_pool2d({A}.t().reshape(1, 3, 2, 2), 1).flatten() | light
native_dropout | A | torch.native_dropout({A}, 0.5, True)[0]
"""

_LOSSES = """
mse_loss    | S | F.mse_loss({A}, target)
mse_loss    | S | F.mse_loss({A}, {A})
mse_loss    | S | ({A} - target).pow(2).mean()
l1_loss     | S | F.l1_loss({A}, target)
smooth_l1_loss | S | F.smooth_l1_loss({A}, target)
huber_loss  | S | F.huber_loss({A}, target)
nll_loss log_softmax | S | F.cross_entropy({A}, labels)
nll_loss log_softmax | S | F.nll_loss(F.log_softmax({A}, dim=1), labels)
bce_loss    | S | F.binary_cross_entropy(torch.sigmoid({A}), binary)
bce_logits_loss | S | F.binary_cross_entropy_with_logits({A}, binary)
kl_div      | S | F.kl_div(F.log_softmax({A}, dim=1), binary, reduction="batchmean")
"""

DATA = {
    "mask": "torch.tensor([[True, False, True], [False, True, True], [True, True, False], [False, False, True]])",
    "index": "torch.tensor([2, 0, 1, 1])",
    "rows": "torch.tensor([0, 2, 1])",
    "picks": "torch.tensor([[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]])",
    "labels": "torch.tensor([0, 2, 1, 1])",
    "binary": "torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])",
    "target": "torch.randn(4, 3)",
}
"""Tensors without a gradient that templates name; a program defines those that it names."""

_PLACE = re.compile(r"\{([AMVST])\}")


@dataclass(frozen=True)
class Operation:
    """One template. `places` are the shapes of its operands, in order; `live`: its result requires grad by itself;
    `passes`: a gradient surely reaches each operand."""

    rows: tuple[str, ...]
    shape: str
    template: str
    light: bool = False
    thin: bool = False
    live: bool = False
    passes: bool = True

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(_PLACE.findall(self.template))

    def of(self, shape: str) -> Operation:
        """The operation for one shape, where it was for any."""
        template = self.template.replace("{T}", f"{{{shape}}}")
        return Operation(self.rows, shape, template, self.light, self.thin, self.live)

    def filled(self, operands: list[str]) -> str:
        """The template with its operands; those that need parentheses get them."""
        parts = _PLACE.split(self.template)
        text = parts[0]
        for operand, behind in zip(operands, parts[2::2]):
            enclosed = text[-1:] in ("(", "[") or text.endswith(", ")
            bare = is_simple(operand) or (enclosed and behind[:1] in (",", ")", "]"))
            text += (operand if bare else f"({operand})") + behind
        return text


def is_simple(text: str) -> bool:
    """Whether a text can be an operand of anything without parentheses: a name, a call, an item."""
    depth = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and character in " -*/+":
            return False
    return True


@cache
def table() -> dict[str, tuple[Operation, ...]]:
    """Every operation, by the shape that it gives."""
    found: dict[str, list[Operation]] = {shape: [] for shape in SHAPES}
    for line in "\n".join((_ELEMENTWISE, _REDUCTIONS, _PRODUCTS, _SHAPES, _LAYERS, _LOSSES)).splitlines():
        if not line.strip():
            continue
        rows, shape, template, *notes = (part.strip() for part in line.split(" | "))
        words = notes[0].replace("|", "").split() if notes else []
        operation = Operation(tuple(rows.split()), shape, template.rstrip("| "), "light" in words, "thin" in words)
        for each in SHAPES if shape == "T" else (shape,):
            found[each].append(operation.of(each) if shape == "T" else operation)
    return {shape: tuple(operations) for shape, operations in found.items()}


_TURN = {
    "AM": "{A}[:3]", "AV": "{A}.sum(0)", "AS": "{A}.mean()",
    "MA": "torch.cat([{M}, {M}[:1]])", "MV": "{M}.mean(0)", "MS": "{M}.sum()",
    "VA": "{V}.repeat(4, 1)", "VM": "torch.diag({V})", "VS": "{V}.sum()",
    "SA": "{S} + torch.zeros(4, 3)", "SM": "{S} * torch.eye(3)", "SV": "{S} - torch.ones(3)",
}  # fmt: skip


def turned(text: str, shape: str, wanted: str) -> str:
    """A tensor's text, made into one of another shape."""
    if shape == wanted:
        return text
    template = _TURN[shape + wanted]
    simple = text if is_simple(text) else f"({text})"
    return template.replace(f"{{{shape}}}", simple)
