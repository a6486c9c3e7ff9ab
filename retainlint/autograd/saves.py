"""What each operation saves for its backward: one row an operation.

A row reads `operation  node's name  inputs | slots`. A slot is one of

    name         this input is saved, whenever the node is built
    name?other   this input is saved if `other` requires grad
    =result      the operation's own result is saved (`=result?other`: if `other` requires grad)
    ~name        something is saved that no in-place change can spoil: a mask, an index, sizes with values in them
    ^name        likewise, but computed from the inputs, so that gradients are functions of it

Gradients are functions of what is saved, and `name?other` serves that of `other` alone. Behind any slot, `!` says that
none is a function of it (it is only compared with, or counted), `!a,b` that only those of `a` and `b` are. That
decides where the graph of a gradient leads which `create_graph` asks for. A lone `!` says that the gradient is nought
whatever comes in, and so a function of nothing.

No slot: nothing is saved, and the node may be walked again and again. `inputs` ending in `*` stands for any number
of tensors. Rows follow tools/autograd/derivatives.yaml; each was measured on torch 2.13.0, by walking twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

_ROWS = """
# arithmetic
add             AddBackward0            self other |
sub             SubBackward0            self other |
rsub            RsubBackward1           self other |
neg             NegBackward0            self |
mul             MulBackward0            self other | self?other other?self
div             DivBackward0            self other | self?other other
reciprocal      ReciprocalBackward0     self | =result
pow             PowBackward0            self exponent | self
pow_tensor      PowBackward1            self exponent | self exponent =result!exponent
rpow            PowBackward2            exponent | exponent =result
remainder       RemainderBackward0      self other | self?other other?other
fmod            FmodBackward0           self other | self?other other?other
floor           FloorBackward0          self | !
ceil            CeilBackward0           self | !
round           RoundBackward0          self | !
trunc           TruncBackward0          self | !
sign            SignBackward0           self | !
bernoulli       BernoulliBackward0      self | !
lerp            LerpBackward0           self end |
lerp_tensor     LerpBackward1           self end weight | self?weight end?weight weight!self,end
addcmul         AddcmulBackward0        self tensor1 tensor2 | tensor1?tensor2 tensor2?tensor1
addcdiv         AddcdivBackward0        self tensor1 tensor2 | tensor1?tensor2 tensor2!tensor1,tensor2
maximum         MaximumBackward0        self other | self! other!
minimum         MinimumBackward0        self other | self! other!
atan2           Atan2Backward0          self other | self other
# reductions
sum             SumBackward0            self |
mean            MeanBackward0           self |
cumsum          CumsumBackward0         self |
trace           TraceBackward0          self |
max             MaxBackward1            self | self! =result!
min             MinBackward1            self | self! =result!
max_dim         MaxBackward0            self | ~indices
min_dim         MinBackward0            self | ~indices
amax            AmaxBackward0           self | self! =result!
amin            AminBackward0           self | self! =result!
median          MedianBackward0         self | self! =result!
prod            ProdBackward0           self | self =result
var             VarBackward0            self | self
std             StdBackward0            self | self =result
norm            LinalgVectorNormBackward0 self | self =result
logsumexp       LogsumexpBackward0      self | self =result
nansum          NansumBackward0         self | self!
sort            SortBackward0           self | ~indices
topk            TopkBackward0           self | ~indices
cumprod         CumprodBackward0        self | self =result
# products
matmul          MmBackward0             self mat2 | self?mat2 mat2?self
mm              MmBackward0             self mat2 | self?mat2 mat2?self
mv              MvBackward0             self vec | self?vec vec?self
dot             DotBackward0            self tensor | self?tensor tensor?self
bmm             BmmBackward0            self mat2 | self?mat2 mat2?self
addmm           AddmmBackward0          self mat1 mat2 | mat1?mat2 mat2?mat1
linear          AddmmBackward0          input weight bias | input?weight weight?input
bilinear        UnsafeViewBackward0     input1 input2 weight bias | input1!input2,weight input2!input1,weight weight!input1,input2
convolution     ConvolutionBackward0    input weight bias | input weight
embedding       EmbeddingBackward0      weight indices | ~indices
cross           LinalgCrossBackward0    self other | self?other other?self
cdist           CdistBackward0          x1 x2 | x1 x2 =result
cholesky        LinalgCholeskyExBackward0 self | =result
inverse         LinalgInvExBackward0    self | =result
solve           LinalgSolveExBackward0  self other | self =result!self
logdet          LinalgSlogdetBackward0  self | self
affine_grid     AffineGridGeneratorBackward0 theta |
grid_sample     GridSampler2DBackward0  input grid | input grid
# shapes and views
view            ViewBackward0           self |
reshape         ViewBackward0           self |
t               TBackward0              self |
transpose       TransposeBackward0      self |
permute         PermuteBackward0        self |
expand          ExpandBackward0         self |
repeat          RepeatBackward0         self |
squeeze         SqueezeBackward0        self |
unsqueeze       UnsqueezeBackward0      self |
flatten         ViewBackward0           self |
select          SelectBackward0         self |
slice           SliceBackward0          self |
narrow          NarrowBackward0         self |
unbind          UnbindBackward0         self |
split           SplitBackward0          self |
alias           AliasBackward0          self |
clone           CloneBackward0          self |
to              ToCopyBackward0         self |
cat             CatBackward0            tensors* |
stack           StackBackward0          tensors* |
flip            FlipBackward0           self |
roll            RollBackward0           self |
triu            TriuBackward0           self |
tril            TrilBackward0           self |
diag            DiagonalBackward0       self |
pad             ConstantPadNdBackward0  self |
pad_reflect     ReflectionPad2DBackward0 self | self
pad_reflect_backward ReflectionPad2DBackwardBackward0 grad self |
interpolate     UpsampleNearest2DBackward0 self |
pixel_shuffle   PixelShuffleBackward0   self |
# selections
index           IndexBackward0          self | ~indices
index_select    IndexSelectBackward0    self | ~index
gather          GatherBackward0         self | self! ~index
where           WhereBackward0          self other | ~condition
masked_fill     MaskedFillBackward0     self | ~mask
masked_select   MaskedSelectBackward0   self | self! ~mask
index_put       IndexPutBackward0       self values | ~indices
scatter         ScatterBackward0        self src | ~index
scatter_add     ScatterAddBackward0     self src | ~index?src
# functions of one tensor
exp             ExpBackward0            self | =result
expm1           Expm1Backward0          self | =result
log             LogBackward0            self | self
log2            Log2Backward0           self | self
log10           Log10Backward0          self | self
log1p           Log1PBackward0          self | self
sqrt            SqrtBackward0           self | =result
rsqrt           RsqrtBackward0          self | =result
square          PowBackward0            self | self
sin             SinBackward0            self | self
cos             CosBackward0            self | self
tan             TanBackward0            self | =result
sinh            SinhBackward0           self | self
cosh            CoshBackward0           self | self
asin            AsinBackward0           self | self
acos            AcosBackward0           self | self
atan            AtanBackward0           self | self
abs             AbsBackward0            self | self
clamp           ClampBackward1          self | self!
relu            ReluBackward0           self | =result
threshold_backward ThresholdBackwardBackward0 grad self | self
leaky_relu      LeakyReluBackward0      self | self
elu             EluBackward0            self | self
selu            EluBackward0            self | self
gelu            GeluBackward0           self | self
silu            SiluBackward0           self | self
softplus        SoftplusBackward0       self | self
softplus_backward SoftplusBackwardBackward0 grad self | grad?self self
sigmoid         SigmoidBackward0        self | =result
log_sigmoid     LogSigmoidBackward0     self | self
tanh            TanhBackward0           self | =result
hardtanh        HardtanhBackward0       self | self
prelu           PreluKernelBackward0    self weight | self weight
erf             ErfBackward0            self | self
softmax         SoftmaxBackward0        self | =result
log_softmax     LogSoftmaxBackward0     self | =result
# layers
dropout         MulBackward0            self | ~noise
native_dropout  NativeDropoutBackward0  self | ~mask
layer_norm      NativeLayerNormBackward0 input weight bias | input weight bias
batch_norm      NativeBatchNormBackward0 input weight bias running_mean running_var | input weight running_mean! running_var!
group_norm      NativeGroupNormBackward0 input weight bias | input weight?input
avg_pool        AvgPool2DBackward0      self | self
avg_pool_backward AvgPool2DBackwardBackward0 grad self |
max_pool        MaxPool2DWithIndicesBackward0 self | self
adaptive_pool   AdaptiveAvgPool2DBackward0 self | self
adaptive_pool_backward AdaptiveAvgPool2DBackwardBackward0 grad self |
adaptive_pool_1 MeanBackward1           self |
# losses
mse_loss        MseLossBackward0        self target | self target
l1_loss         AbsBackward0            self target | ^difference
smooth_l1_loss  SmoothL1LossBackward0   self target | self target
huber_loss      HuberLossBackward0      self target | self target
nll_loss        NllLossBackward0        self target | self target
bce_loss        BinaryCrossEntropyBackward0 self target | self target!self
bce_logits_loss BinaryCrossEntropyWithLogitsBackward0 self target | self target!self
kl_div          SubBackward0            input target | target
# engine's own
copy_slices     CopySlices              base value | ^function
copy            CopyBackwards           self |
copy_           CopyBackwards           self src |
fill_           FillBackward2           self |
zero_           ZeroBackward0           self |
as_strided      AsStridedBackward0      self |
as_strided_scatter AsStridedScatterBackward0 self src |
"""


@dataclass(frozen=True)
class Slot:
    """One saved tensor: input number `source`, or the result (-1), or something uncheckable (-2)."""

    name: str
    source: int
    condition: int | None  # the input that must require grad, if one must
    serves: tuple[int, ...] | None = None  # the inputs whose gradients are functions of it; None: all of them
    computed: bool = False  # uncheckable, but no constant


RESULT, UNCHECKED = -1, -2


@dataclass(frozen=True)
class Row:
    """What one operation's node is called and saves."""

    operation: str
    node: str
    inputs: tuple[str, ...]
    slots: tuple[Slot, ...]
    nought: bool = False  # its gradient is always zero

    def saved(self, needs: Sequence[bool]) -> tuple[Slot, ...]:
        """The slots filled when input i requires grad as `needs[i]` says; missing inputs need none."""
        if len(self.slots) == 0:
            return ()
        return tuple(s for s in self.slots if s.condition is None or (s.condition < len(needs) and needs[s.condition]))


@cache
def rows() -> dict[str, Row]:
    """The table, by operation."""
    table: dict[str, Row] = {}
    for line in _ROWS.strip().splitlines():
        if line.startswith("#"):
            continue
        head, _, tail = line.partition("|")
        operation, node, *inputs = head.split()
        names = [name.rstrip("*") for name in inputs]
        texts = tail.split()
        slots = tuple(_slot(text, names) for text in texts if text != "!")
        table[operation] = Row(operation, node, tuple(inputs), slots, nought="!" in texts)
    return table


def _slot(text: str, inputs: list[str]) -> Slot:
    text, only, served = text.partition("!")
    text, _, condition = text.partition("?")
    needs = inputs.index(condition) if condition else None
    serves = tuple(inputs.index(name) for name in served.split(",") if name) if only else None
    if needs is not None:
        serves = (needs,)
    if text.startswith("="):
        return Slot("result", RESULT, needs, serves)
    if text[0] in "~^":
        return Slot(text[1:], UNCHECKED, needs, serves if text[0] == "^" else (), text[0] == "^")
    return Slot(text, inputs.index(text), needs, serves)
