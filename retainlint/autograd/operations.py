"""Torch's differentiable operations: one row each, which says what is built, what is saved, and what comes out.

A row reads `operation  node's name  operands | saves | result | names`. Operands stand in the order of torch's function:

    name         a tensor that a gradient may flow to, or that is saved
    .name        an argument that is neither
    name*        any number of tensors, in a list or one by one

What is saved for the backward is

    name         this operand, whenever the node is built
    name?other   this operand if `other` requires grad
    =result      the operation's own result (`=result?other`: if `other` requires grad)
    ~name        something that no in-place change can spoil: a mask, an index, sizes with values in them
    ^name        likewise, but computed from the operands, so that gradients are functions of it

Gradients are functions of what is saved, and `name?other` serves that of `other` alone. Behind any slot, `!` says that
none is a function of it (it is only compared with, or counted), `!a,b` that only those of `a` and `b` are. That
decides where the graph of a gradient leads which `create_graph` asks for. A lone `!` says that the gradient is nought
whatever comes in, and so a function of nothing. No slot: nothing is saved, and the node may be passed again and again.

Of the result, words say what can be known without its numbers:

    view         it shares the first operand's memory
    reordered    it has its elements in another order than that memory; `reshaped`: a copy of what is reordered, else a view
    part         it has but some of its elements
    same, like   it has the shape of all operands broadcast, of the first one
    first        it has as many dimensions as the first one
    scalar       it has none; `reduced`: none if no dimension is named
    positive     no element is below 0; `signed`: none is if none of the operand's is
    total        it keeps the graphs of all that went in: an addition, a concatenation
    joined       it holds its operands as they are, one behind the other
    paired       each item of one operand goes with each of the other: queries with prototypes, with keys, with fast weights
    list         there are several, pieces or copies of the operands
    fixed        views of one node, none of which torch lets anybody change in place
    indexed      it comes with indices, where a dimension is named or must be
    gives a,b=   there are several, with these names, or so many; `=`: saved where the first is

`names` are what torch calls it besides the row's own name; `-` says that this one is none.

Rows were measured on torch 2.13.0, by passing each graph twice and by changing each tensor between forward and backward;
`python -m benchmarks.truth.operators` does so again with the samples that torch tests its own operators with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import zip_longest
from typing import TypeVar

Operand = TypeVar("Operand")

_ROWS = """
# arithmetic
add             AddBackward0            self other | | same total
sub             SubBackward0            self other | | same total | subtract
rsub            RsubBackward1           self other | | same
neg             NegBackward0            self | | same | negative
mul             MulBackward0            self other | self?other other?self | same | multiply ger outer
div             DivBackward0            self other | self?other other | same | divide true_divide
reciprocal      ReciprocalBackward0     self | =result | same
pow             PowBackward0            self exponent | self | same
pow_tensor      PowBackward1            self exponent | self exponent =result!exponent | same | -
rpow            PowBackward2            exponent | exponent =result | same | -
remainder       RemainderBackward0      self other | self?other other?other | same
fmod            FmodBackward0           self other | self?other other?other | same
floor           FloorBackward0          self | ! | same | floor_divide
ceil            CeilBackward0           self | ! | same
round           RoundBackward0          self | ! | same
trunc           TruncBackward0          self | ! | same | fix
sign            SignBackward0           self | ! | same
bernoulli       BernoulliBackward0      self | ! | like
lerp            LerpBackward0           self end | | same total
lerp_tensor     LerpBackward1           self end weight | self?weight end?weight weight!self,end | same | -
addcmul         AddcmulBackward0        self tensor1 tensor2 | tensor1?tensor2 tensor2?tensor1 | same
addcdiv         AddcdivBackward0        self tensor1 tensor2 | tensor1?tensor2 tensor2!tensor1,tensor2 | same
maximum         MaximumBackward0        self other | self! other! | same
minimum         MinimumBackward0        self other | self! other! | same
atan2           Atan2Backward0          self other | self other | same | arctan2
float_power     PowBackward1            self exponent | =result | same
fmax            FmaxBackward0           self other | self other | same
fmin            FminBackward0           self other | self other | same
hypot           HypotBackward0          self other | self?self other?other =result | same
ldexp           LdexpBackward0          self other | other?self =result | same
logaddexp       LogaddexpBackward0      self other | self other | same
logaddexp2      Logaddexp2Backward0     self other | self other | same
polar           PolarBackward0          abs angle | =result | same
xlog1py         SpecialXlog1PyBackward0 self other | self other | same
xlogy           XlogyBackward0          self other | self other | same
clamp_min       ClampMinBackward0       self min | self! min! | same
clamp_max       ClampMaxBackward0       self max | self! max! | same
copysign        CopysignBackward0       self other | self?self =result | same
normal          NormalBackward3         mean std | | same
igamma          IgammaBackward0         self other | self other | same | gammainc
igammac         IgammacBackward0        self other | self other | same | gammaincc
zeta            SpecialZetaBackward0    self other | self other | same
complex         ComplexBackward0        real imag | real?real imag?imag | same
nextafter       NextafterBackward0      self other | self?self other?self | same
# functions of one tensor
exp             ExpBackward0            self | =result | same positive
expm1           Expm1Backward0          self | =result | same
log             LogBackward0            self | self | same
log2            Log2Backward0           self | self | same
log10           Log10Backward0          self | self | same
log1p           Log1PBackward0          self | self | same
sqrt            SqrtBackward0           self | =result | same positive
rsqrt           RsqrtBackward0          self | =result | same
square          PowBackward0            self | self | same positive
sin             SinBackward0            self | self | same
cos             CosBackward0            self | self | same
tan             TanBackward0            self | =result | same
sinh            SinhBackward0           self | self | same
cosh            CoshBackward0           self | self | same
asin            AsinBackward0           self | self | same | arcsin
acos            AcosBackward0           self | self | same | arccos
atan            AtanBackward0           self | self | same | arctan
abs             AbsBackward0            self | self | same positive | absolute
clamp           ClampBackward1          self | self! | same | clip
relu            ReluBackward0           self | =result | same positive
threshold_backward ThresholdBackwardBackward0 grad self | self | | -
leaky_relu      LeakyReluBackward0      self | self | same
elu             EluBackward0            self | self | same
selu            EluBackward0            self | self | same
gelu            GeluBackward0           self | self | same
silu            SiluBackward0           self | self | same
softplus        SoftplusBackward0       self | self | same
softplus_backward SoftplusBackwardBackward0 grad self | grad?self self | | -
sigmoid         SigmoidBackward0        self | =result | same positive | expit
log_sigmoid     LogSigmoidBackward0     self | self | same | logsigmoid
tanh            TanhBackward0           self | =result | same
hardtanh        HardtanhBackward0       self | self | same
prelu           PreluKernelBackward0    self weight | self weight | like
erf             ErfBackward0            self | self | same
softmax         SoftmaxBackward0        self | =result | same positive
log_softmax     LogSoftmaxBackward0     self | =result | same
acosh           AcoshBackward0          self | self | same | arccosh
angle           AngleBackward0          self | self | same
asinh           AsinhBackward0          self | self | same | arcsinh
atanh           AtanhBackward0          self | self | same | arctanh
conj_physical   AliasBackward0          self | | same
deg2rad         Deg2RadBackward0        self | | same
digamma         DigammaBackward0        self | self | same | psi
erfc            ErfcBackward0           self | self | same
erfinv          ErfinvBackward0         self | self | same
exp2            Exp2Backward0           self | =result | same
frac            FracBackward0           self | | same
frexp           FrexpBackward0          self | ~indices | like gives mantissa,exponent
i0              I0Backward0             self | self | same
lgamma          LgammaBackward0         self | self | same | gammaln
logit           LogitBackward0          self | self | same
mvlgamma        MvlgammaBackward0       self | self | same | multigammaln
nan_to_num      NanToNumBackward0       self | self | like
celu            CeluBackward0           self | self | same
hardshrink      HardshrinkBackward0     self | self | same
hardsigmoid     HardsigmoidBackward0    self | self | same
hardswish       HardswishBackward0      self | self | same
mish            MishBackward0           self | self | same
rrelu           RreluWithNoiseBackward0 self | self | same
softmin         SoftmaxBackward0        self | =result | same
softshrink      SoftshrinkBackward0     self | self | same
softsign        DivBackward0            self | self | same
tanhshrink      SubBackward0            self | ~tanh | like
threshold       ThresholdBackward0      self | self | same
polygamma       PolygammaBackward0      self | self | same
rad2deg         Rad2DegBackward0        self | | same
sgn             SgnBackward0            self | self =result | like
sinc            SincBackward0           self | self | same
entr            SpecialEntrBackward0    self | self | same
erfcx           SpecialErfcxBackward0   self | self =result | like
i0e             SpecialI0EBackward0     self | self =result | like
i1              SpecialI1Backward0      self | self =result | like
i1e             SpecialI1EBackward0     self | self =result | like
log_ndtr        SpecialLogNdtrBackward0 self | self =result | like
ndtr            MulBackward1            self | ~erfc | like
ndtri           SpecialNdtriBackward0   self | =result | same
gumbel_softmax  SoftmaxBackward0        self | =result | same
gumbel_softmax_hard AddBackward0        self | ~soft | same | -
relu6           HardtanhBackward0       self | self | same
clamp_tensor    ClampBackward0          self min max | self! min! max! | same | -
# reductions
sum             SumBackward0            self | | reduced signed
mean            MeanBackward0           self | | reduced signed
cumsum          CumsumBackward0         self | | same
trace           TraceBackward0          self | | scalar reduced
max             MaxBackward1            self | self! =result! | reduced signed indexed
min             MinBackward1            self | self! =result! | reduced signed indexed
max_dim         MaxBackward0            self | ~indices | signed | -
min_dim         MinBackward0            self | ~indices | | -
amax            AmaxBackward0           self | self! =result! | reduced
amin            AminBackward0           self | self! =result! | reduced
median          MedianBackward0         self | self! =result! | reduced indexed
prod            ProdBackward0           self | self =result | reduced
var             VarBackward0            self | self | reduced positive
std             StdBackward0            self | self =result | reduced positive
norm            LinalgVectorNormBackward0 self | self =result | reduced positive | frobenius_norm
logsumexp       LogsumexpBackward0      self | self =result
nansum          NansumBackward0         self | self! | reduced
sort            SortBackward0           self | ~indices | like indexed
topk            TopkBackward0           self | ~indices | first indexed
cumprod         CumprodBackward0        self | self =result | like
logcumsumexp    LogcumsumexpBackward0   self | self =result | like
nanmean         DivBackward0            self | self
nanmedian       NanmedianBackward0      self | self! =result! | reduced indexed
nanquantile     SqueezeBackward4        self | ~indices
quantile        SqueezeBackward4        self | ~indices
kthvalue        KthvalueBackward0       self | ~indices | indexed
mode            ModeBackward0           self | ~indices | indexed
msort           SortBackward0           self | ~indices | like
cummax          CummaxBackward0         self | self | like indexed
cummin          CumminBackward0         self | self | like indexed
aminmax         AminmaxBackward0        self | self =result | gives min,max=
std_mean        StdMeanBackward0        self | self =result | gives 2
var_mean        VarMeanBackward0        self | self | gives 2
norm_except_dim NormExceptDimBackward0  self | self =result
nuclear_norm    SumBackward1            self | ~factors
# products
matmul          MmBackward0             self mat2 | self?mat2 mat2?self | paired
mm              MmBackward0             self mat2 | self?mat2 mat2?self | paired
mv              MvBackward0             self vec | self?vec vec?self
dot             DotBackward0            self tensor | self?tensor tensor?self | scalar
bmm             BmmBackward0            self mat2 | self?mat2 mat2?self | paired
addmm           AddmmBackward0          self mat1 mat2 | mat1?mat2 mat2?mat1
linear          AddmmBackward0          input weight bias | input?weight weight?input | first paired
bilinear        UnsafeViewBackward0     input1 input2 weight bias | input1?input2 input1?weight input2?input1 input2?weight weight?input1 weight?input2 | first
convolution     ConvolutionBackward0    input weight bias | input weight | first | - conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc
embedding       EmbeddingBackward0      input weight | input
cross           LinalgCrossBackward0    self other | self?other other?self | same
cdist           CdistBackward0          x1 x2 | x1 x2 =result | paired
cholesky        LinalgCholeskyExBackward0 self | =result | like
inverse         LinalgInvExBackward0    self | =result | like | inv
solve           LinalgSolveExBackward0  self other | self =result!self
logdet          LinalgSlogdetBackward0  self | self
affine_grid     AffineGridGeneratorBackward0 theta |
grid_sample     GridSampler2DBackward0  input grid | input grid | first
grid_sampler_2d GridSampler2DBackward0  input grid | input grid | first
grid_sampler_3d GridSampler3DBackward0  input grid | input grid | first
cholesky_inverse CholeskyInverseBackward0 self | self =result | like
cholesky_solve  CholeskySolveBackward0  self input2 | self input2 =result
cholesky_ex     LinalgCholeskyExBackward0 self | =result | like gives L,info
det             LinalgDetBackward0      self | self =result
eig             LinalgEigBackward0      self | =result | gives eigenvalues,eigenvectors=
eigh            LinalgEighBackward0     self | =result | gives eigenvalues,eigenvectors=
eigvals         LinalgEigBackward0      self | =result
eigvalsh        LinalgEighBackward0     self | =result
inv_ex          LinalgInvExBackward0    self | =result | like gives inverse,info
lu_factor       LinalgLuFactorExBackward0 self | =result | like gives LU,pivots
lu_factor_ex    LinalgLuFactorExBackward0 self | =result | like gives LU,pivots,info
lu_unpack       LuUnpackBackward0       LU_data | | gives P,L,U
lu_solve        LinalgLuSolveBackward0  LU pivots B | ~factors
matrix_power    MmBackward0             self | self ~powers | like
qr              LinalgQrBackward0       self | =result | gives Q,R=
solve_ex        LinalgSolveExBackward0  self B | self =result | gives result,info
solve_triangular LinalgSolveTriangularBackward0 self B | self =result
svdvals         LinalgSvdBackward0      self | =result
vander          CatBackward0            self | self =result
vector_norm     LinalgVectorNormBackward0 self | self =result
matrix_exp      LinalgMatrixExpBackward0 self | self | like
pinverse        LinalgPinvBackward0     self | self =result | first
lstsq           LinalgLstsqBackward0    self b | self b =result | gives solution,residuals,rank,singular_values
matrix_norm     LinalgVectorNormBackward0 self | self =result
pinv            LinalgPinvBackward0     self | self =result | first
slogdet         LinalgSlogdetBackward0  self | self =result | gives sign,logabsdet
tensorsolve     ViewBackward0           self other | =result ~self
lu              LinalgLuFactorExBackward0 self | =result | gives P,L=,U=
triangular_solve TriangularSolveBackward0 self A | self A =result | gives solution,cloned_coefficient
svd             LinalgSvdBackward0      self | =result | gives U,S=,Vh=
multi_dot       MmBackward0             tensors* | ~product
pca_lowrank     TransposeBackward0      self | ~factors | gives 3
svd_lowrank     TransposeBackward0      self | ~factors | gives 3
tensorinv       ReshapeAliasBackward0   self | ~inverse
ormqr           OrmqrBackward0          self input2 input3 | self input2 input3 =result
householder_product LinalgHouseholderProductBackward0 input tau | input tau =result | like | orgqr
corrcoef        DivBackward0            self | ~deviations
cov             SqueezeBackward0        self .correction fweights aweights | ~deviations fweights aweights self?aweights
pdist           PdistBackward0          self | self =result
dist            DistBackward0           self other | self other =result
pairwise_distance NormBackward1           x1 x2 | =result | positive
cosine_similarity SumBackward1            x1 x2 | x1?x1 x2?x2 | paired
kron            UnsafeViewBackward0     self other | ~product
tensordot       ViewBackward0           a b | a?b b?a | paired
inner           MulBackward0            self other | self?other other?self | paired
vdot            VdotBackward0           self other | self?other other?self
vecdot          MulBackward0            x y | x?y y?x
addbmm          AddbmmBackward0         self batch1 batch2 | batch1?batch2 batch2?batch1
addmv           AddmvBackward0          self mat vec | mat?vec vec?mat
addr            AddrBackward0           self vec1 vec2 | vec1?vec2 vec2?vec1
baddbmm         BaddbmmBackward0        self batch1 batch2 | batch1?batch2 batch2?batch1 | paired
chain_matmul    MmBackward0             matrices* | ~product
# shapes and views
view            ViewBackward0           self | | view | view_as unflatten
reshape         ViewBackward0           self | | view reshaped | ravel reshape_as
t               TBackward0              self | | view same reordered
transpose       TransposeBackward0      self | | first view reordered | swapdims swapaxes adjoint
permute         PermuteBackward0        self | | first view reordered | movedim moveaxis
expand          ExpandBackward0         self | | view reordered | expand_as broadcast_to
repeat          RepeatBackward0         self | | | tile
squeeze         SqueezeBackward0        self | | view
unsqueeze       UnsqueezeBackward0      self | | view
flatten         ViewBackward0           self | | view reshaped
select          SelectBackward0         self | | view part
slice           SliceBackward0          self | | view part | -
backward_hook   BackwardHookFunctionBackward self | | same view fixed | -
narrow          SliceBackward0          self | | view part
unbind          UnbindBackward0         self | | view part list fixed
unbind_copy     UnbindBackward0_copy    self | | list
split           SplitBackward0          self | | view part list fixed | chunk
unsafe_split    UnsafeSplitBackward0    self | | list | unsafe_chunk unsafe_split_with_sizes split_with_sizes_copy
alias           AliasBackward0          self | | view same | atleast_1d atleast_2d atleast_3d dequantize resize resize_as view_as_complex view_as_real real imag conj resolve_conj resolve_neg positive
clone           CloneBackward0          self | | same signed
to              ToCopyBackward0         self | | same signed | - cfloat cdouble chalf
cat             CatBackward0            tensors* | | total joined | concat concatenate hstack vstack dstack row_stack column_stack
stack           StackBackward0          tensors* | | joined
flip            FlipBackward0           self | | same
roll            RollBackward0           self | | same
triu            TriuBackward0           self | | like
tril            TrilBackward0           self | | like
diag            DiagonalBackward0       self |
pad             ConstantPadNdBackward0  self | | first
pad_reflect     ReflectionPad2DBackward0 self | self | first | -
pad_reflect_backward ReflectionPad2DBackwardBackward0 grad self | | | -
interpolate     UpsampleNearest2DBackward0 self | | first | upsample upsample_bilinear upsample_nearest
pixel_shuffle   PixelShuffleBackward0   self | | first
alias_copy      AliasBackward0_copy     self | | like
as_strided_copy AsStridedBackward0_copy self |
constant_pad_nd ConstantPadNdBackward0  self | | first
diag_embed      DiagEmbedBackward0      self |
diagflat        DiagEmbedBackward0      self |
diagonal        DiagonalBackward0       self | | view part
diagonal_copy   DiagonalBackward0_copy  self |
expand_copy     ExpandBackward0_copy    self |
fliplr          FlipBackward0           self | | same
flipud          FlipBackward0           self | | same
narrow_copy     NarrowCopyBackward0     self | | first
channel_shuffle ChannelShuffleBackward0 self | | like
pixel_unshuffle PixelUnshuffleBackward0 self | | first
unfold          UnfoldBackward0         self | | view reordered
permute_copy    PermuteBackward0_copy   self | | first
rot90           Rot90Backward0          self | | first
squeeze_copy    SqueezeBackward1_copy   self |
t_copy          TBackward0_copy         self | | first
transpose_copy  TransposeBackward0_copy self | | first
unfold_copy     UnfoldBackward0_copy    self |
unsqueeze_copy  UnsqueezeBackward0_copy self |
im2col          Im2ColBackward0         self | | | -
view_copy       ViewBackward0_copy      self |
block_diag      BlockDiagBackward0      tensors* |
broadcast_tensors ExpandBackward0         tensors* | | view list
meshgrid        ExpandBackward0         tensors* | | view list
cartesian_prod  StackBackward0          tensors* |
cumulative_trapezoid CumsumBackward0         y x | | first
diff            SubBackward0            self .n .dim prepend append | | first
interpolate_area AdaptiveAvgPool2DBackward0 self | self | first | -
pad_circular    CopySlices              self | ~function | first | -
trapezoid       MulBackward1            y x | | | trapz
fold            Col2ImBackward0         self |
slice_scatter   SliceScatterBackward0   self src | | like
select_copy     SelectBackward0_copy    self |
slice_copy      SliceBackward0_copy     self |
poisson         PoissonBackward0        self |
select_scatter  SelectScatterBackward0  self src | | like
diagonal_scatter DiagonalScatterBackward0 self src | | like
dsplit          SliceBackward0          self | | view part list
hsplit          SliceBackward0          self | | view part list
vsplit          SliceBackward0          self | | view part list
split_with_sizes SplitWithSizesBackward0 self | | view part list fixed
tensor_split    SliceBackward0          self | | view part list
combinations    StackBackward0          self | self
sum_to_size     SumBackward1            self |
as_strided      AsStridedBackward0      self | | view reordered
# selections
index           IndexBackward0          self keys* | ~positions keys | signed | -
index_select    IndexSelectBackward0    self .dim index | index
gather          GatherBackward0         self .dim index | self! index
where           WhereBackward0          condition self other | condition | same
masked_fill     MaskedFillBackward0     self mask value | mask | same
masked_select   MaskedSelectBackward0   self mask | self! mask
index_put       IndexPutBackward0       self .indices values | ~indices | like
scatter         ScatterBackward0        self .dim index src | index | like
scatter_add     ScatterAddBackward0     self .dim index src | index?src | like
index_add       IndexAddBackward0       self .dim index source | index?source source?source | like
index_copy      IndexCopyBackward0      self .dim index source | index source?source | like
index_reduce    IndexReduceBackward0    self .dim index source | self index source =result | like
masked_scatter  MaskedScatterBackward0  self mask source | mask | like
put             PutBackward0            self index source | index source?source | like
scatter_reduce  ScatterReduceBackward0  self .dim index src | self index src =result | like
index_fill      IndexFillBackward0      self .dim index value | index | like
repeat_interleave ViewBackward0           self |
repeat_interleave_tensor IndexSelectBackward0    self repeats | ~index | | -
take            TakeBackward0           self index | self! index
take_along_dim  GatherBackward0         self indices | self! ~index
sparse_coo_tensor SparseCooTensorWithDimsAndTensorsBackward0 .indices values | ~indices
# Fourier transforms
fft2            FftC2CBackward0         self | | first
fftn            FftC2CBackward0         self | | first
fftshift        RollBackward0           self | | like
hfft            FftC2RBackward0         self | | first
hfft2           FftC2RBackward0         self | | first
hfftn           FftC2RBackward0         self | | first
ifft2           FftC2CBackward0         self | | first
ifftn           FftC2CBackward0         self | | first
ifftshift       RollBackward0           self | | like
irfft           FftC2RBackward0         self | | first
irfft2          FftC2RBackward0         self | | first
irfftn          FftC2RBackward0         self | | first
fft             FftC2CBackward0         self | | first
ifft            FftC2CBackward0         self | | first
rfft            FftR2CBackward0         self | ~sizes | first
rfft2           FftR2CBackward0         self | ~sizes | first
rfftn           FftR2CBackward0         self | ~sizes | first
ihfft           FftR2CBackward0         self | ~sizes | first
ihfft2          FftR2CBackward0         self | ~sizes | first
ihfftn          FftR2CBackward0         self | ~sizes | first
# layers
dropout         MulBackward0            self | ~noise | same | -
native_dropout  NativeDropoutBackward0  self | ~mask | like | -
layer_norm      NativeLayerNormBackward0 input .normalized_shape weight bias | input weight bias | like
batch_norm      NativeBatchNormBackward0 input running_mean running_var weight bias | input weight running_mean! running_var! | like
group_norm      NativeGroupNormBackward0 input .num_groups weight bias | input weight | like
native_layer_norm NativeLayerNormBackward0 input .normalized_shape weight bias | input weight bias | like gives 3
native_group_norm NativeGroupNormBackward0 input weight bias | input weight | like gives 3
native_batch_norm NativeBatchNormBackward0 input weight bias running_mean running_var | input weight running_mean! running_var! | like gives 3
avg_pool        AvgPool2DBackward0      self | self | first | - avg_pool2d avg_pool1d
avg_pool_backward AvgPool2DBackwardBackward0 grad self | | | -
max_pool        MaxPool2DWithIndicesBackward0 self | self | first | - max_pool2d
adaptive_pool   AdaptiveAvgPool2DBackward0 self | self | first | - adaptive_avg_pool2d adaptive_avg_pool1d
adaptive_pool_backward AdaptiveAvgPool2DBackwardBackward0 grad self | | | -
adaptive_pool_1 MeanBackward1           self | | first | -
adaptive_avg_pool3d AdaptiveAvgPool3DBackward0 self | self | first
avg_pool3d      AvgPool3DBackward0      self | self | first
adaptive_max_pool1d SqueezeBackward1        self | self | first
adaptive_max_pool2d AdaptiveMaxPool2DBackward0 self | self | first
adaptive_max_pool3d AdaptiveMaxPool3DBackward0 self | self | first
embedding_bag   EmbeddingBagBackward0   input weight .offsets .max_norm .norm_type .scale_grad_by_freq .mode .sparse per_sample_weights | input weight?per_sample_weights per_sample_weights
fractional_max_pool2d FractionalMaxPool2DBackward0 self | self | first
fractional_max_pool3d FractionalMaxPool3DBackward0 self | self | first
instance_norm   ViewBackward0           input running_mean running_var weight bias | input | like
local_response_norm DivBackward0            input | input | like
max_pool1d      SqueezeBackward1        self | self | first
max_pool3d      MaxPool3DWithIndicesBackward0 self | self | first
max_pool1d_with_indices SqueezeBackward1 self | self | first indexed
max_pool2d_with_indices MaxPool2DWithIndicesBackward0 self | self | first indexed
max_pool3d_with_indices MaxPool3DWithIndicesBackward0 self | self | first indexed
adaptive_max_pool1d_with_indices SqueezeBackward1 self | self | first indexed
adaptive_max_pool2d_with_indices AdaptiveMaxPool2DBackward0 self | self | first indexed
adaptive_max_pool3d_with_indices AdaptiveMaxPool3DBackward0 self | self | first indexed
fractional_max_pool2d_with_indices FractionalMaxPool2DBackward0 self | self | first indexed
fractional_max_pool3d_with_indices FractionalMaxPool3DBackward0 self | self | first indexed
multi_head_attention_forward ViewBackward0 query key value .embed_dim_to_check .num_heads in_proj_weight in_proj_bias bias_k bias_v .add_zero_attn .dropout_p out_proj_weight out_proj_bias .training .key_padding_mask .need_weights attn_mask .use_separate_proj_weight q_proj_weight k_proj_weight v_proj_weight static_k static_v | ~attention
rms_norm        MulBackward0            input .normalized_shape weight | input?input weight?input ~norm | like
stft            ViewAsRealBackward0     input | input
istft           DivBackward0            input | ~window
scaled_dot_product_attention ScaledDotProductFlashAttentionForCpuBackward0 query key value | value?query value?key ~attention
lp_pool1d       PowBackward0            self | self ~power | first
lp_pool2d       PowBackward0            self | self ~power | first
lp_pool3d       PowBackward0            self | self ~power | first
max_unpool1d    SqueezeBackward1        self indices | indices | first
max_unpool2d    MaxUnpool2DBackward0    self indices | indices | first
max_unpool3d    MaxUnpool3DBackward0    self indices | indices | first
normalize       DivBackward0            self | self | like
renorm          RenormBackward0         self | self | like
glu             GluBackward0            self | self | first
# losses
mse_loss        MseLossBackward0        self target | self target | positive
l1_loss         AbsBackward0            self target | ^difference | positive
smooth_l1_loss  SmoothL1LossBackward0   self target | self target | positive
huber_loss      HuberLossBackward0      self target | self target | positive
nll_loss        NllLossBackward0        self target | self target | | cross_entropy
bce_loss        BinaryCrossEntropyBackward0 self target | self target!self | | binary_cross_entropy
bce_logits_loss BinaryCrossEntropyWithLogitsBackward0 self target | self target!self | | - binary_cross_entropy_with_logits bce_with_logits
kl_div          SubBackward0            input target | input?target target
multi_margin_loss MultiMarginLossBackward0 self target | self target
multilabel_margin_loss MultilabelMarginLossBackward0 self target | self target | positive
soft_margin_loss SoftMarginLossBackward0 self target | self target | positive
cosine_embedding_loss MeanBackward0           input1 input2 | input1 input2 | positive
gaussian_nll_loss MeanBackward0           input target var | ~difference
hinge_embedding_loss MeanBackward0           input .target | ~margin
kl_div_log      MulBackward0            input target | ~difference | | -
linear_cross_entropy NllLossBackward0        input linear_weight target .linear_bias weight | input?linear_weight linear_weight?input target weight | positive
margin_ranking_loss MeanBackward0          input1 input2 target | ~margin | positive
multilabel_soft_margin_loss MeanBackward0           input target weight | input?input target?input weight?input ~sigmoid | positive
poisson_nll_loss MeanBackward0           input target | input?target target?input ~rate
triplet_margin_loss MeanBackward0           anchor positive negative | ~distance | positive
triplet_margin_with_distance_loss MeanBackward0           anchor positive negative | ~distance | positive
ctc_loss        MeanBackward0           log_probs targets | log_probs targets
# engine's own
copy_slices     CopySlices              base value | ^function | | -
copy            CopyBackwards           self | | | -
copy_           CopyBackwards           self src | | | -
fill_           FillBackward2           self | | | -
zero_           ZeroBackward0           self | | | -
as_strided_scatter AsStridedScatterBackward0 self src | | like
fill            FillBackward0           self | | same
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
    """One operation. `inputs` are the operands that are tensors, `places` where they stand in a call."""

    operation: str
    node: str
    inputs: tuple[str, ...]
    places: tuple[int, ...]
    slots: tuple[Slot, ...]
    nought: bool = False  # its gradient is always zero
    result: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    fields: tuple[str, ...] = field(
        default=()
    )  # what its results are called, if there are several; numbers, if nothing

    @cached_property
    def _chooses(self) -> bool:
        return not CHOOSING.isdisjoint(self.inputs)

    def takes(self, operands: Sequence[Operand]) -> tuple[Operand | None, ...]:
        """Some operands, but None for an index or a mask: what it chooses has no graph of its."""
        if not self._chooses:
            return tuple(operands)
        names = self.inputs if len(self.inputs) >= len(operands) else ()
        return tuple(None if name in CHOOSING else each for each, name in zip_longest(operands, names[: len(operands)]))

    def saved(self, needs: Sequence[bool]) -> tuple[Slot, ...]:
        """The slots filled when input i requires grad as `needs[i]` says; missing inputs need none."""
        if len(self.slots) == 0:
            return ()
        return tuple(s for s in self.slots if s.condition is None or (s.condition < len(needs) and needs[s.condition]))


CHOOSING = frozenset(("index", "indices", "mask", "condition", "repeats"))
"""Operands that only choose."""


@cache
def rows() -> dict[str, Row]:
    """The table, by operation."""
    return {
        row.operation: row for line in _ROWS.strip().splitlines() if not line.startswith("#") for row in [_row(line)]
    }


@cache
def by_name() -> dict[str, str]:
    """The operation that a function or method of torch is, by its last name."""
    return {name: row.operation for row in rows().values() for name in row.names}


def _row(line: str) -> Row:
    head, saves, result, also = (*(part.strip() for part in line.split("|")), "", "")[:4]
    operation, node, *operands = head.split()
    inputs = [name for name in operands if not name.startswith(".")]
    bare = [name.rstrip("*") for name in inputs]
    slots = tuple(_slot(text, bare) for text in saves.split() if text != "!")
    words, _, several = result.partition("gives ")
    fields = (
        tuple(str(i) for i in range(int(several))) if several.isdigit() else tuple(filter(None, several.split(",")))
    )
    spelled = [name for name in (operation, *also.split()) if name != "-"]
    return Row(
        operation,
        node,
        tuple(inputs),
        tuple(at for at, name in enumerate(operands) if not name.startswith(".")),
        slots,
        "!" in saves.split(),
        frozenset(words.split()),
        tuple(spelled[1:] if "-" in also.split() else spelled),
        fields,
    )


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
