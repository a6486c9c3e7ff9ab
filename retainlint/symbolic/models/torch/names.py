"""The names that torch has for what is no differentiable operation: functions and methods of tensors, sorted by what they do."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from retainlint.autograd.operations import by_name
from retainlint.symbolic.state.values import External, Value

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


DIMENSIONS = {"unique": 1, "unique_consecutive": 1, "bincount": 1, "argmax": 0, "argmin": 0, "count_nonzero": 0}
"""How many dimensions the result of some of them has, where nothing more is asked for."""

WHOLE = ("tolist", "numpy", "long", "int", "short")
"""Those whose result has as many dimensions as what they are asked of."""

ARRAYS = {
    "abs", "absolute", "arccos", "arcsin", "arctan", "arctan2", "argmax", "argmin", "argsort", "array", "asarray", "ascontiguousarray",
    "average", "ceil", "clip", "concatenate", "convolve", "correlate", "cos", "cosh", "cov", "cross", "cumprod", "cumsum", "digitize",
    "dot", "einsum", "exp", "expm1", "floor", "gradient", "heaviside", "histogram", "hstack", "hypot", "interp", "isfinite", "isinf",
    "isnan", "log", "log10", "log1p", "log2", "logaddexp", "matmul", "maximum", "mean", "median", "minimum", "multiply",
    "nan_to_num", "percentile", "power", "prod", "quantile", "round", "searchsorted", "sign", "sin", "sinh", "sort", "sqrt", "square",
    "stack", "std", "sum", "take", "tan", "tanh", "trapezoid", "unique", "var", "vstack", "where",
}  # fmt: skip
"""Functions of numpy that make an array of what they are given: a tensor that requires a gradient refuses."""

NUMBERED = ("tolist", "numpy")
"""Those whose items are numbers: keys of a dict by what they are, as tensors aren't."""


NUMBERS = {
    "item", "size", "dim", "numel", "nelement", "ndimension", "element_size", "stride", "data_ptr", "is_floating_point",
    "is_cuda", "type", "__len__", "storage_offset", "is_contiguous", "__format__", "__float__", "__int__",
}  # fmt: skip


KEEPS = {
    "to", "cuda", "cpu", "float", "double", "half", "bfloat16", "contiguous", "type_as", "requires_grad_", "pin_memory",
    "share_memory_", "coalesce", "refine_names", "rename", "align_to", "to_dense", "as_subclass", "positive", "npu",
}  # fmt: skip


_PRECISIONS = {"double", "half", "bfloat16", "autocast", "set_default_dtype"}
_DTYPES = {"torch.float64", "torch.double", "torch.half", "torch.float16", "torch.bfloat16"}


def is_of_precision(name: str, given: Iterable[Value]) -> bool:
    """Whether a method or a function is to compute in another precision than the usual one."""
    return name in _PRECISIONS or any(isinstance(value, External) and value.path in _DTYPES for value in given)


SPECIAL = {
    "backward", "detach", "detach_", "register_hook", "retain_grad", "apply_", "map_", "set_", "resize_", "type",
    "is_leaf", "record_stream", "register_post_accumulate_grad_hook", "dropout", "feature_dropout",
}  # fmt: skip


OVERWRITES = frozenset(
    """zero_ fill_ copy_ normal_ uniform_ random_ bernoulli_ exponential_ cauchy_ geometric_ log_normal_ apply_ map_
    fill_diagonal_ eq_ ne_ lt_ le_ gt_ ge_ logical_and_ logical_or_ logical_not_ logical_xor_ data_""".split()
)


LACKED = {
    "is_sparse", "is_sparse_csr", "is_nested", "is_quantized", "is_mkldnn", "is_meta", "_python_dispatch",
    "_has_symbolic_sizes_strides",
}  # fmt: skip
"""What a tensor that was made as usual answers with False: its numbers lie in its memory, one beside the other."""


TOLD = {
    "shape", "device", "dtype", "ndim", "name", "itemsize", "nbytes", "layout", "output_nr", "grad_dtype",
    "is_cpu", "is_cuda", "is_hpu", "is_ipu", "is_maia", "is_mps", "is_mtia", "is_vulkan", "is_xla", "is_xpu",
    "retains_grad", "_base", "_backward_hooks", "_post_accumulate_grad_hooks", "_cdata", "volatile", "creator",
}  # fmt: skip
"""What a tensor tells about itself that isn't known here."""


ATTRIBUTES = {"data", "grad", "shape", "T", "mT", "H", "grad_fn", "requires_grad", "is_leaf", "device", "dtype", "ndim"}


FUNCTIONAL = frozenset(
    """leaky_relu elu selu gelu silu softplus log_sigmoid logsigmoid hardtanh relu6 softsign hardsigmoid mish celu glu
    normalize alias adaptive_avg_pool2d adaptive_avg_pool1d avg_pool2d avg_pool1d max_pool2d max_pool1d
    adaptive_max_pool2d interpolate pad pixel_shuffle upsample inv fft cdist mse_loss l1_loss smooth_l1_loss huber_loss
    kl_div binary_cross_entropy nll_loss cross_entropy bce_loss linear bilinear einsum conv1d conv2d conv3d layer_norm
    group_norm batch_norm instance_norm embedding cat stack concat solve fold threshold grid_sample
    grid_sampler_2d grid_sampler_3d max_unpool1d max_unpool2d max_unpool3d max_pool1d_with_indices lu_unpack tensorinv
    max_pool2d_with_indices max_pool3d_with_indices adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices
    adaptive_max_pool3d_with_indices fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices unbind_copy
    native_batch_norm native_group_norm native_layer_norm split_with_sizes_copy""".split()
)
"""Functions of those names that are no methods; what an unknown holds under them is anything."""


_ANYTHING = frozenset(
    "angle diff dist frac fix fill index values indices lu normal poisson convolution quantile".split()
)
"""Methods whose names are often attributes of something else."""

_RARE = frozenset(
    "storage untyped_storage storage_type layout name nbytes itemsize retains_grad volatile reinforce creator"
    " grad_dtype dim_order geqrf smm symeig solve output_nr data_ptr".split()
)
"""What tensors have, or had, that computes nothing."""


@cache
def is_method(name: str) -> bool:
    """Whether tensors have such a method, so that it is what an unknown has under that name."""
    if name in _ANYTHING or name in FUNCTIONAL:
        return False
    return name in by_name() or name in CUTS or name in NUMBERS or name in KEEPS or name in SPECIAL or in_place(name)


def is_foreign(name: str) -> bool:
    """Whether no tensor has an attribute of that name, so that what has it is an object of another kind."""
    known = is_method(name) or is_attribute(name) or name in _ANYTHING or name in FUNCTIONAL
    return not known and name.isidentifier() and not name.startswith(("_", "is_", "to_", "q_")) and name not in _RARE


def in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__") and (name in OVERWRITES or name[:-1] in by_name())


WRAPPED = ("module", "_orig_mod")
"""By which torch's wrappers hold the module that they wrap."""


def is_attribute(name: str) -> bool:
    return name in ATTRIBUTES
