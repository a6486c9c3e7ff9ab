"""More names of torch, each with a row of the saves table that treats a graph alike: what it saves was measured.

`name=row`; names that stand in one line with a row before the colon share it. Tests compare them with torch itself.
"""

from __future__ import annotations

_ONE = """
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

_TWO = """
atan2: logaddexp logaddexp2 xlog1py xlogy arctan2 igamma igammac gammainc gammaincc nextafter hypot cosine_similarity
where: sparse_coo_tensor copysign ldexp complex polar float_power
l1_loss: multilabel_margin_loss multilabel_soft_margin_loss gaussian_nll_loss poisson_nll_loss margin_ranking_loss
bmm: vdot vecdot tensorsolve
cdist: dist householder_product orgqr cholesky_solve
add: rsub normal
solve: solve_triangular triangular_solve lu_solve solve_ex lstsq
"""

_MORE = """
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


def _table(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.strip().splitlines():
        row, _, many = line.partition(":")
        found |= dict.fromkeys(many.split(), row)
    return found


ONE = _table(_ONE)
TWO = _table(_TWO)
MORE = _table(_MORE)

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
