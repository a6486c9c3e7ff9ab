"""The names that torch has for functions and methods of tensors, sorted by what they do to a graph."""

from __future__ import annotations

from functools import cache

_MEASURED_ONE = """
neg: deg2rad rad2deg fix frac fill conj_physical bernoulli resolve_conj resolve_neg positive
flip: addr channel_shuffle native_channel_shuffle constant_pad_nd cumulative_trapezoid diag_embed diagflat diff fft2 fftn
flip: fftshift ifftshift fliplr flipud fold hfft hfft2 hfftn ifft ifft2 ifftn irfft irfft2 irfftn pixel_unshuffle
flip: rot90 slice_scatter trapezoid trapz upsample_bilinear upsample_nearest narrow_copy permute_copy
flip: transpose_copy view_copy select_copy slice_copy squeeze_copy unsqueeze_copy expand_copy unfold_copy t_copy
flip: diagonal_copy alias_copy as_strided_copy select_scatter diagonal_scatter poisson
alias: adjoint as_strided atleast_1d atleast_2d atleast_3d dequantize resize resize_as sum_to_size swapdims
alias: view_as_complex view_as_real split_with_sizes dsplit hsplit vsplit tensor_split imag
sin: acosh angle arccos arccosh arcsin arcsinh arctan arctanh asinh atanh digamma entr erfc erfinv gammaln lgamma i0 psi
sin: hardshrink hardswish softshrink rrelu sinc threshold multigammaln mvlgamma glu
logdet: adaptive_max_pool3d avg_pool3d fractional_max_pool2d fractional_max_pool3d lp_pool3d
logdet: max_pool3d matrix_power matrix_exp nanmean rfft rfft2 rfftn ihfft ihfft2 ihfftn combinations renorm vander
logdet: nan_to_num local_response_norm normalize
tanh: expit exp2 ndtri softmin gumbel_softmax
inverse: eigvals eigvalsh svdvals eigh eig qr svd lu lu_factor lu_factor_ex cholesky_ex inv_ex
logsumexp: erfcx frobenius_norm i0e i1 i1e log_ndtr lp_pool1d lp_pool2d matrix_norm vector_norm pdist pinv sgn
logsumexp: cholesky_inverse aminmax slogdet std_mean pinverse norm_except_dim
sort: nanquantile ndtr nuclear_norm quantile tanhshrink frexp pca_lowrank svd_lowrank take_along_dim cov corrcoef
sort: adaptive_max_pool1d
logdet: var_mean
adaptive_pool: adaptive_avg_pool3d
"""


_MEASURED_TWO = """
atan2: logaddexp logaddexp2 xlog1py xlogy arctan2 igamma igammac gammainc gammaincc nextafter hypot cosine_similarity
where: sparse_coo_tensor copysign ldexp complex polar float_power
l1_loss: multilabel_margin_loss multilabel_soft_margin_loss gaussian_nll_loss poisson_nll_loss margin_ranking_loss
bmm: vdot vecdot tensorsolve
cdist: dist householder_product orgqr cholesky_solve
add: rsub normal
solve: solve_triangular triangular_solve lu_solve solve_ex lstsq
"""


_MEASURED_MORE = """
convolution: conv_transpose3d conv_tbc convolution
bmm: multi_dot dsmm hspmm spmm
l1_loss: triplet_margin_with_distance_loss linear_cross_entropy triplet_margin_loss
cat: row_stack
layer_norm: rms_norm
sin: polygamma zeta
expand: cartesian_prod
index_put: put
scatter: scatter_reduce index_reduce
"""


def _measured_table(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.strip().splitlines():
        row, _, many = line.partition(":")
        found |= dict.fromkeys(many.split(), row)
    return found


MEASURED_ONE = _measured_table(_MEASURED_ONE)

MEASURED_TWO = _measured_table(_MEASURED_TWO)

MEASURED_MORE = _measured_table(_MEASURED_MORE)


RESULTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "aminmax": (2, ("min", "max")), "frexp": (2, ("mantissa", "exponent")), "std_mean": (2, ()), "var_mean": (2, ()),
    "lstsq": (4, ("solution", "residuals", "rank", "singular_values")), "slogdet": (2, ("sign", "logabsdet")),
    "qr": (2, ("Q", "R")), "svd": (3, ("U", "S", "Vh")), "eig": (2, ("eigenvalues", "eigenvectors")),
    "eigh": (2, ("eigenvalues", "eigenvectors")), "lu": (3, ("P", "L", "U")), "lu_factor": (2, ("LU", "pivots")),
    "lu_factor_ex": (3, ("LU", "pivots", "info")), "cholesky_ex": (2, ("L", "info")), "inv_ex": (2, ("inverse", "info")),
    "solve_ex": (2, ("result", "info")), "triangular_solve": (2, ("solution", "cloned_coefficient")),
    "svd_lowrank": (3, ()), "pca_lowrank": (3, ()),
}  # fmt: skip
"""Functions that return so many tensors of one node, and what their fields are called."""


_ONE = """
neg negative=neg reciprocal floor ceil round trunc sign sum mean cumsum trace max min amax amin median prod var std
norm logsumexp nansum cumprod exp expm1 log log2 log10 log1p sqrt rsqrt square sin cos tan abs absolute=abs clamp
clip=clamp clamp_min=clamp clamp_max=clamp relu leaky_relu elu selu gelu silu softplus sigmoid log_sigmoid
logsigmoid=log_sigmoid tanh hardtanh erf softmax log_softmax relu6=hardtanh softsign=abs hardsigmoid=hardtanh mish=silu
celu=elu logit=log sinh cosh asin acos atan cosine=norm
view reshape t transpose permute expand repeat squeeze unsqueeze flatten narrow unbind split diag diagonal=select flip roll triu tril
clone alias swapaxes=transpose movedim=permute view_as=view expand_as=expand reshape_as=reshape tile=repeat
unflatten=view ravel=view broadcast_to=expand repeat_interleave=index unfold=slice moveaxis=permute
adaptive_avg_pool2d=adaptive_pool adaptive_avg_pool1d=adaptive_pool avg_pool2d=avg_pool avg_pool1d=avg_pool
max_pool2d=max_pool max_pool1d=max_pool adaptive_max_pool2d=max_pool interpolate pad pixel_shuffle upsample=interpolate
sort topk kthvalue=sort mode=sort cummax=sort cummin=sort msort=sort nanmedian=median
index_select gather masked_select select masked_fill index_fill=masked_fill take=gather chunk=split logcumsumexp=logsumexp
inverse inv=inverse det=prod logdet cholesky fft=alias conj=alias real=alias
"""


_TWO = """
add sub subtract=sub mul multiply=mul div divide=div true_divide=div pow remainder fmod maximum minimum fmax=maximum
fmin=minimum atan2 matmul mm mv dot bmm inner=dot outer=mul ger=mul cross cdist where masked_scatter=where
mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy=bce_loss
binary_cross_entropy_with_logits=bce_logits_loss nll_loss cross_entropy=nll_loss bce_loss
bce_with_logits=bce_logits_loss
pairwise_distance=norm solve soft_margin_loss=mse_loss hinge_embedding_loss=where multi_margin_loss=nll_loss
cosine_embedding_loss=norm ctc_loss=nll_loss kron=mul floor_divide=floor
"""


_MORE = """
addmm addmv=addmm addbmm=addmm baddbmm=addmm addcmul addcdiv lerp lerp_tensor linear bilinear prelu einsum=bmm
conv1d=convolution conv2d=convolution conv3d=convolution conv_transpose1d=convolution conv_transpose2d=convolution
scatter scatter_add index_put index_add=scatter index_copy=scatter
layer_norm group_norm batch_norm instance_norm=batch_norm scaled_dot_product_attention=bmm tensordot=bmm
multi_head_attention_forward=bmm embedding embedding_bag=embedding cat stack concat=cat concatenate=cat hstack=cat
vstack=cat dstack=cat column_stack=cat block_diag=cat meshgrid=expand broadcast_tensors=expand chain_matmul=bmm
grid_sample affine_grid
"""


def _table(text: str) -> dict[str, str]:
    return {name: row or name for name, _, row in (word.partition("=") for word in text.split())}


ONE, TWO, MORE = _table(_ONE) | MEASURED_ONE, _table(_TWO) | MEASURED_TWO, _table(_MORE) | MEASURED_MORE


OPERATIONS = ONE | TWO | MORE
"""Names of functions and methods, and the row of the saves table that each is (or behaves like)."""


REDUCTIONS = {"sum", "mean", "max", "min", "norm", "prod", "std", "var", "median", "nansum", "trace", "amax", "amin"}


SEVERAL = {"max", "min", "median", "sort", "topk", "kthvalue", "mode", "cummax", "cummin"}


LISTS = {
    "split", "chunk", "unbind", "broadcast_tensors", "meshgrid", "tensor_split", "split_with_sizes", "hsplit", "vsplit",
    "dsplit", "unsafe_split", "unsafe_chunk",
}  # fmt: skip


CUTS = {
    "argmax", "argmin", "argsort", "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "all", "any",
    "nonzero", "long", "int", "bool", "byte", "short", "char", "numpy", "tolist", "multinomial",
    "count_nonzero", "allclose", "equal", "isclose", "logical_not", "logical_and", "logical_or", "searchsorted",
    "bincount", "unique", "histc", "new_tensor", "new_zeros", "new_ones", "new_full", "new_empty", "is_tensor",
    "zeros_like", "ones_like", "rand_like", "randn_like", "empty_like", "full_like", "randint_like", "get_device",
    "greater", "less", "one_hot", "logical_xor", "new", "greater_equal", "less_equal", "not_equal", "argwhere",
    "bucketize", "isin", "isneginf", "isposinf", "isreal", "signbit", "matrix_rank", "unique_consecutive", "histogram",
    "heaviside", "gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift",
    "bitwise_right_shift", "new_empty_strided", "nonzero_static", "is_nonzero", "result_type", "can_cast",
    "promote_types", "broadcast_shapes", "unravel_index", "binomial",
}  # fmt: skip


NUMBERS = {
    "item", "size", "dim", "numel", "nelement", "ndimension", "element_size", "stride", "data_ptr", "is_floating_point",
    "is_cuda", "type", "__len__", "storage_offset", "is_contiguous", "__format__", "__float__", "__int__",
}  # fmt: skip


KEEPS = {
    "to", "cuda", "cpu", "float", "double", "half", "bfloat16", "contiguous", "type_as", "requires_grad_", "pin_memory",
    "share_memory_", "coalesce", "refine_names", "rename", "align_to", "to_dense", "as_subclass", "positive", "npu",
}  # fmt: skip


SPECIAL = {
    "backward", "detach", "detach_", "register_hook", "retain_grad", "apply_", "map_", "set_", "resize_", "type",
    "is_leaf", "record_stream", "register_post_accumulate_grad_hook", "dropout", "feature_dropout",
}  # fmt: skip


OVERWRITES = frozenset(
    """zero_ fill_ copy_ normal_ uniform_ random_ bernoulli_ exponential_ cauchy_ geometric_ log_normal_ apply_ map_
    fill_diagonal_ eq_ ne_ lt_ le_ gt_ ge_ logical_and_ logical_or_ logical_not_ logical_xor_ data_""".split()
)


ATTRIBUTES = {"data", "grad", "shape", "T", "mT", "H", "grad_fn", "requires_grad", "is_leaf", "device", "dtype", "ndim"}


FUNCTIONAL = frozenset(
    """leaky_relu elu selu gelu silu softplus log_sigmoid logsigmoid hardtanh relu6 softsign hardsigmoid mish celu glu
    normalize cosine alias adaptive_avg_pool2d adaptive_avg_pool1d avg_pool2d avg_pool1d max_pool2d max_pool1d
    adaptive_max_pool2d interpolate pad pixel_shuffle upsample inv fft cdist mse_loss l1_loss smooth_l1_loss huber_loss
    kl_div binary_cross_entropy nll_loss cross_entropy bce_loss linear bilinear einsum conv1d conv2d conv3d layer_norm
    group_norm batch_norm instance_norm embedding cat stack concat solve fold threshold grid_sample""".split()
)
"""Functions of those names that are no methods; what an unknown holds under them is anything."""


_ANYTHING = frozenset(
    "angle diff dist frac fix fill index values indices lu normal poisson convolution quantile".split()
)
"""Methods whose names are often attributes of something else."""

_RARE = frozenset(
    "storage untyped_storage storage_type layout name nbytes itemsize retains_grad volatile reinforce creator stft istft"
    " grad_dtype dim_order geqrf ormqr smm symeig solve output_nr data_ptr".split()
)
"""What tensors have, or had, that computes nothing."""


@cache
def is_method(name: str) -> bool:
    """Whether tensors have such a method, so that it is what an unknown has under that name."""
    if name in _ANYTHING or name in FUNCTIONAL:
        return False
    return name in OPERATIONS or name in CUTS or name in NUMBERS or name in KEEPS or name in SPECIAL or in_place(name)


def is_foreign(name: str) -> bool:
    """Whether no tensor has an attribute of that name, so that what has it is an object of another kind."""
    known = is_method(name) or is_attribute(name) or name in _ANYTHING or name in FUNCTIONAL
    return not known and name.isidentifier() and not name.startswith(("_", "is_", "to_", "q_")) and name not in _RARE


def in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__") and (name in OVERWRITES or name[:-1] in OPERATIONS)


def is_attribute(name: str) -> bool:
    return name in ATTRIBUTES
