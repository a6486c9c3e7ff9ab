"""Short programs on torch's own libraries; whether they raise, and where, real torch says."""

from __future__ import annotations

HEAD = """import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
"""

PROGRAMS: dict[str, str] = {
    "adamax_closure": """w = torch.ones(3, requires_grad=True)
l = (w * w).sum()
o = torch.optim.Adamax([w])

def c():
    l.backward()
    return l

o.step(c)
""",
    "lbfgs20": """w = torch.ones(3, requires_grad=True)
l = (w * w).sum()
o = torch.optim.LBFGS([w])

def c():
    o.zero_grad()
    l.backward()
    return l

o.step(c)
""",
    "lbfgs_import": """from torch.optim.lbfgs import LBFGS

w = torch.ones(3, requires_grad=True)
l = (w * w).sum()
o = LBFGS([w], max_iter=5)

def c():
    o.zero_grad()
    l.backward()
    return l

o.step(c)
""",
    "sched_swa": """from torch.optim.swa_utils import AveragedModel, SWALR

m = nn.Linear(3, 3)
av = AveragedModel(m)
o = torch.optim.SGD(m.parameters(), 0.1)
s = SWALR(o, 0.1)
for x in torch.ones(3, 2, 3):
    l = m(x).tanh().sum()
    o.zero_grad()
    l.backward()
    o.step()
    av.update_parameters(m)
    s.step()
""",
    "dist_beta_rsample": """from torch import distributions as D

a = torch.ones(3, requires_grad=True)
d = D.Beta(a.exp(), a.exp())
for i in range(2):
    d.rsample().sum().backward()
""",
    "dist_beta_sample": """from torch import distributions as D

a = torch.ones(3, requires_grad=True)
d = D.Beta(a, a)
x = d.sample()
for i in range(2):
    d.log_prob(x).sum().backward()
""",
    "dist_beta_sample_derived": """from torch import distributions as D

a = torch.ones(3, requires_grad=True)
d = D.Beta(a.exp(), a.exp())
for i in range(2):
    d.log_prob(d.sample()).sum().backward()
""",
    "dist_sample_nograph": """from torch.distributions import Normal

a = torch.ones(3, requires_grad=True)
Normal(a, 1.0).sample().sum().backward()
""",
    "dist_kl": """from torch.distributions import Normal, kl_divergence

a = torch.ones(3, requires_grad=True)
s = a.exp()
p = Normal(a * 2, s)
q = Normal(torch.zeros(3), torch.ones(3))
for i in range(2):
    kl_divergence(p, q).sum().backward()
""",
    "dist_kl_leaf": """from torch.distributions import Normal, kl_divergence

a = torch.ones(3, requires_grad=True)
p = Normal(a, a)
q = Normal(torch.zeros(3), torch.ones(3))
for i in range(2):
    kl_divergence(p, q).sum().backward()
""",
    "dist_entropy_cat": """from torch.distributions import Categorical

a = torch.ones(3, requires_grad=True)
p = Categorical(logits=a)
for i in range(2):
    p.entropy().sum().backward()
""",
    "dist_entropy_cat_fresh": """from torch.distributions import Categorical

a = torch.ones(3, requires_grad=True)
for i in range(2):
    p = Categorical(logits=a)
    p.entropy().sum().backward()
""",
    "dist_normal_leaf": """from torch.distributions import Normal

a = torch.ones(3, requires_grad=True)
p = Normal(a, torch.ones(3))
for i in range(2):
    p.log_prob(p.sample()).sum().backward()
""",
    "dist_independent": """from torch.distributions import Normal, Independent

a = torch.ones(3, requires_grad=True)
p = Independent(Normal(a.exp(), torch.ones(3)), 1)
for i in range(2):
    p.log_prob(p.sample()).sum().backward()
""",
    "dist_mvn": """from torch.distributions import MultivariateNormal

a = torch.ones(3, requires_grad=True)
p = MultivariateNormal(a.exp(), torch.eye(3))
for i in range(2):
    p.log_prob(p.sample()).sum().backward()
""",
    "dist_mvn_leaf": """from torch.distributions import MultivariateNormal

a = torch.ones(3, requires_grad=True)
p = MultivariateNormal(a, torch.eye(3))
for i in range(2):
    p.log_prob(p.sample()).sum().backward()
""",
    "dist_bern_leaf_logits": """from torch.distributions import Bernoulli

a = torch.ones(3, requires_grad=True)
p = Bernoulli(logits=a)
for i in range(2):
    p.log_prob(p.sample()).sum().backward()
""",
    "dist_bern_derived_logits": """from torch.distributions import Bernoulli

a = torch.ones(3, requires_grad=True)
p = Bernoulli(logits=a * 2)
for i in range(2):
    p.log_prob(p.sample()).sum().backward()
""",
    "dist_onehot_leaf": """from torch.distributions import OneHotCategorical

a = torch.ones(3, requires_grad=True)
p = OneHotCategorical(logits=a)
for i in range(2):
    p.log_prob(p.sample()).sum().backward()
""",
    "dist_normal_shifted_leafadd": """from torch.distributions import Normal

a = torch.ones(3, requires_grad=True)
p = Normal(a + 1, torch.ones(3))
for i in range(2):
    p.log_prob(p.sample()).sum().backward()
""",
    "dist_transformed": """from torch.distributions import Normal, TransformedDistribution, TanhTransform

a = torch.ones(3, requires_grad=True)
p = TransformedDistribution(Normal(a.exp(), torch.ones(3)), [TanhTransform()])
for i in range(2):
    p.log_prob(p.sample()).sum().backward()
""",
    "dist_mean_prop": """from torch.distributions import Gamma

a = torch.ones(3, requires_grad=True)
p = Gamma(a.exp(), torch.ones(3))
for i in range(2):
    p.mean.sum().backward()
""",
    "scaler_cuda": """scaler = torch.cuda.amp.GradScaler(enabled=False)
m = nn.Linear(2, 2)
o = torch.optim.SGD(m.parameters(), 0.1)
l = m(torch.ones(2)).tanh().sum()
for i in range(2):
    scaler.scale(l).backward()
    scaler.step(o)
    scaler.update()
""",
    "autocast_ctx": """m = nn.Linear(2, 2)
o = torch.optim.SGD(m.parameters(), 0.1)
for i in range(2):
    with torch.cuda.amp.autocast(enabled=False):
        l = m(torch.ones(2)).tanh().sum()
    l.backward()
    o.step()
""",
    "autocast_deco": """m = nn.Linear(2, 2)

@torch.autocast("cpu")
def f():
    return m(torch.ones(2)).tanh().sum()

l = f()
l.backward()
l.backward()
""",
    "autocast_custom_fwd": """m = nn.Linear(2, 2)
with torch.autocast("cpu"):
    l = m(torch.ones(1, 2)).tanh().sum()
l.backward()
l.backward()
""",
    "ckpt_reentrant": """from torch.utils.checkpoint import checkpoint

m = nn.Linear(2, 2)
x = torch.ones(2, requires_grad=True)
y = checkpoint(lambda t: m(t).tanh(), x, use_reentrant=True)
y.sum().backward()
y.sum().backward()
""",
    "ckpt_nonreentrant": """from torch.utils.checkpoint import checkpoint

m = nn.Linear(2, 2)
x = torch.ones(2, requires_grad=True)
y = checkpoint(lambda t: m(t).tanh(), x, use_reentrant=False)
y.sum().backward()
y.sum().backward()
""",
    "ckpt_nonreentrant_nosave": """from torch.utils.checkpoint import checkpoint

x = torch.ones(2, requires_grad=True)
y = checkpoint(lambda t: t + 1, x, use_reentrant=False)
y.sum().backward()
y.sum().backward()
""",
    "ckpt_reentrant_nosave": """from torch.utils.checkpoint import checkpoint

x = torch.ones(2, requires_grad=True)
y = checkpoint(lambda t: t + 1, x, use_reentrant=True)
y.sum().backward()
y.sum().backward()
""",
    "ckpt_seq": """from torch.utils.checkpoint import checkpoint_sequential

m = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2))
x = torch.ones(2, 2, requires_grad=True)
y = checkpoint_sequential(m, 2, x, use_reentrant=False).sum()
y.backward()
y.backward()
""",
    "ckpt_seq_fresh": """from torch.utils.checkpoint import checkpoint_sequential

m = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2))
x = torch.ones(2, 2, requires_grad=True)
for i in range(2):
    y = checkpoint_sequential(m, 2, x, use_reentrant=False).sum()
    y.backward()
""",
    "clip": """from torch.nn.utils import clip_grad_norm_, clip_grad_value_

m = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2))
o = torch.optim.SGD(m.parameters(), 0.1)
for i in range(3):
    l = m(torch.ones(1, 2)).sum()
    o.zero_grad()
    l.backward()
    clip_grad_norm_(m.parameters(), 1.0)
    clip_grad_value_(m.parameters(), 1.0)
    o.step()
""",
    "p2v": """from torch.nn.utils import parameters_to_vector, vector_to_parameters

m = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2))
v = parameters_to_vector(m.parameters())
r = (v**2).sum()
r.backward()
r.backward()
""",
    "p2v_leaf": """from torch.nn.utils import parameters_to_vector, vector_to_parameters

m = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2))
v = parameters_to_vector(m.parameters())
for i in range(2):
    (v**2).sum().backward()
""",
    "spectral": """from torch.nn.utils import spectral_norm

m = spectral_norm(nn.Linear(2, 2))
o = torch.optim.SGD(m.parameters(), 0.1)
for i in range(3):
    l = m(torch.ones(1, 2)).tanh().sum()
    o.zero_grad()
    l.backward()
    o.step()
""",
    "spectral_p": """from torch.nn.utils.parametrizations import spectral_norm, weight_norm, orthogonal

m = spectral_norm(nn.Linear(2, 2))
o = torch.optim.SGD(m.parameters(), 0.1)
for i in range(3):
    l = m(torch.ones(1, 2)).tanh().sum()
    o.zero_grad()
    l.backward()
    o.step()
l = m(torch.ones(1, 2)).tanh().sum()
l.backward()
l.backward()
""",
    "weight_norm_p": """from torch.nn.utils.parametrizations import weight_norm

m = weight_norm(nn.Linear(2, 2))
o = torch.optim.SGD(m.parameters(), 0.1)
l = m(torch.ones(1, 2)).tanh().sum()
for i in range(3):
    o.zero_grad()
    l.backward()
    o.step()
""",
    "weight_norm_w": """from torch.nn.utils.parametrizations import weight_norm

m = weight_norm(nn.Linear(2, 2))
o = torch.optim.SGD(m.parameters(), 0.1)
w = m.weight
for i in range(3):
    o.zero_grad()
    (w * 2).sum().backward()
    o.step()
""",
    "weight_norm_old": """from torch.nn.utils import weight_norm

m = weight_norm(nn.Linear(2, 2))
o = torch.optim.SGD(m.parameters(), 0.1)
for i in range(3):
    o.zero_grad()
    m(torch.ones(1, 2)).tanh().sum().backward()
    o.step()
""",
    "func_grad": """from torch.func import grad, vmap, vjp, jacrev, jacfwd, hessian, functional_call

w = torch.ones(3, requires_grad=True)

def f(x):
    return (x**2).sum()

g = grad(f)(w)
for i in range(2):
    g.sum().backward(retain_graph=i == 0)
""",
    "func_grad_twice": """from torch.func import grad

w = torch.ones(3, requires_grad=True)

def f(x):
    return (x**2).sum()

g = grad(f)(w).sum()
g.backward()
g.backward()
""",
    "func_vjp": """from torch.func import vjp

w = torch.ones(3, requires_grad=True)
out, vf = vjp(lambda x: x**2, w)
(g,) = vf(torch.ones(3))
g.sum().backward()
""",
    "func_vmap": """from torch.func import vmap

w = torch.ones(3, requires_grad=True)
y = vmap(lambda x: x * w)(torch.ones(4, 3)).sum()
y.backward()
y.backward()
""",
    "func_vmap_fresh": """from torch.func import vmap

w = torch.ones(3, requires_grad=True)
for i in range(2):
    y = vmap(lambda x: x * w)(torch.ones(4, 3)).sum()
    y.backward()
""",
    "func_call_fresh": """from torch.func import functional_call

m = nn.Linear(2, 2)
p = {k: v for k, v in m.named_parameters()}
for i in range(2):
    functional_call(m, p, (torch.ones(1, 2),)).tanh().sum().backward()
""",
    "func_call_derived": """from torch.func import functional_call

m = nn.Linear(2, 2)
p = {k: v * 2 for k, v in m.named_parameters()}
for i in range(2):
    functional_call(m, p, (torch.ones(1, 2),)).tanh().sum().backward()
""",
    "jacrev": """from torch.func import jacrev

w = torch.ones(3, requires_grad=True)
J = jacrev(lambda x: x**2)(w)
J.sum().backward()
J.sum().backward()
""",
    "AF_jacobian": """from torch.autograd.functional import jacobian

w = torch.ones(3, requires_grad=True)
J = jacobian(lambda x: x**2, w)
for i in range(2):
    (J * w).sum().backward()
""",
    "AF_jacobian_create": """from torch.autograd.functional import jacobian

w = torch.ones(3, requires_grad=True)
J = jacobian(lambda x: x**3, w, create_graph=True)
for i in range(2):
    (J * w).sum().backward()
""",
    "AF_hessian_nograph": """w = torch.ones(3, requires_grad=True)
H = torch.autograd.functional.hessian(lambda x: (x**3).sum(), w)
H.sum().backward()
""",
    "AF_hvp": """w = torch.ones(3, requires_grad=True)
o, h = torch.autograd.functional.hvp(lambda x: (x**3).sum(), w, torch.ones(3))
for i in range(2):
    (h * w).sum().backward()
""",
    "AF_vjp_closure": """m = nn.Linear(3, 3)
for i in range(2):
    o, h = torch.autograd.functional.vjp(m, torch.ones(3), torch.ones(3))
    (m(torch.ones(3)) * h).sum().backward()
""",
    "cfg_mul": """class C:
    threshold = 2.0
    angle = 1.0
    index = 0

cfg = C()
w = torch.ones(3, requires_grad=True)
l = (w * cfg.threshold + cfg.angle).sum()
l.backward()
l.backward()
""",
    "qr_twice": """w = torch.eye(3).requires_grad_()
q, r = torch.linalg.qr(w * 2)
q.sum().backward()
r.sum().backward()
""",
    "svd_names": """w = torch.eye(3).requires_grad_()
o = torch.linalg.svd(w * 2)
o.S.sum().backward()
o.S.sum().backward()
""",
    "slogdet_named": """w = torch.eye(3).requires_grad_()
torch.linalg.slogdet(w * 2).logabsdet.backward()
""",
    "eigh_named": """w = torch.eye(3).requires_grad_()
e = torch.linalg.eigh(w * 2)
e.eigenvalues.sum().backward()
e.eigenvectors.sum().backward()
""",
    "normal_mean": """m = torch.ones(3, requires_grad=True)
s = torch.normal(m, torch.ones(3)).sum()
s.backward()
s.backward()
""",
    "normal_size": """s = torch.normal(0.0, 1.0, size=(3,))
w = torch.ones(3, requires_grad=True)
for i in range(2):
    (s * w).sum().backward()
""",
    "normal_size_lost": """s = torch.normal(0.0, 1.0, size=(3,))
w = torch.ones(3, requires_grad=True)
l = (s * w).sum()
l.backward()
l.backward()
""",
    "as_strided": """w = torch.ones(4, requires_grad=True)
v = torch.as_strided(w, (2, 2), (2, 1))
for i in range(2):
    v.sum().backward()
""",
    "hsplit": """w = torch.ones(4, requires_grad=True)
a, b = torch.hsplit(w * 2, 2)
a.sum().backward()
b.sum().backward()
""",
    "tensor_split_leaf": """w = torch.ones(4, requires_grad=True)
a, b = torch.tensor_split(w, 2)
a.sum().backward()
b.sum().backward()
a.sum().backward()
""",
    "complex": """w = torch.ones(4, requires_grad=True)
z = torch.complex(w, w).abs().sum()
z.backward()
""",
    "aminmax": """w = torch.rand(4, requires_grad=True)
lo, hi = torch.aminmax(w * 2)
(hi - lo).backward()
""",
    "aminmax_named": """w = torch.rand(4, requires_grad=True)
r = torch.aminmax(w * 2)
(r.max - r.min).backward()
(r.max - r.min).backward()
""",
    "logical_inplace": """w = torch.rand(4, requires_grad=True)
m = torch.zeros(4)
m.copysign_(torch.ones(4))
m.xlogy_(m)
(w * m).sum().backward()
""",
    "inplace_hardshrinkless": """w = torch.rand(4, requires_grad=True)
y = (w * 2).digamma()
y.lgamma_()
y.sum().backward()
""",
    "inplace_saved": """w = torch.rand(4, requires_grad=True)
x = w * 2
y = x.erfinv() if False else x.sinc()
x.add_(1)
y.sum().backward()
""",
    "quantile": """w = torch.rand(4, requires_grad=True)
q = (w * 1).quantile(0.5)
q.backward()
q.backward()
""",
    "fliplr": """w = torch.rand(4, 4, requires_grad=True)
q = torch.fliplr(w + 1).diff().rot90().sum()
q.backward()
q.backward()
""",
    "vdot": """w = torch.rand(4, requires_grad=True)
q = torch.vdot(w + 1, w + 2)
q.backward()
q.backward()
""",
    "stft": """w = torch.rand(64, requires_grad=True)
q = torch.stft(w + 1, 16, window=torch.hann_window(16), return_complex=True).abs().sum()
q.backward()
q.backward()
""",
    "stft_ok": """w = torch.rand(64, requires_grad=True)
win = torch.hamming_window(16)
for i in range(2):
    q = torch.stft(w + 1, 16, window=win, return_complex=True).abs().sum()
    q.backward()
""",
    "kaiser": """win = torch.kaiser_window(16)
win2 = torch.signal.windows.hann(16)
w = torch.rand(16, requires_grad=True)
for i in range(2):
    (win * w * win2).sum().backward()
""",
    "sparse": """i = torch.tensor([[0, 1], [1, 0]])
v = torch.ones(2)
A = torch.sparse_coo_tensor(i, v, (2, 2))
w = torch.rand(2, 2, requires_grad=True)
for k in range(2):
    torch.sparse.mm(A, w).sum().backward()
""",
    "sparse_learned": """i = torch.tensor([[0, 1], [1, 0]])
v = torch.ones(2, requires_grad=True)
A = torch.sparse_coo_tensor(i, v.exp(), (2, 2))
w = torch.rand(2, 2, requires_grad=True)
for k in range(2):
    torch.sparse.mm(A, w).sum().backward()
""",
    "interp_fold": """w = torch.rand(1, 4, 4, requires_grad=True)
q = F.fold(F.unfold(w[None] + 1, 2), (4, 4), 2).sum()
q.backward()
q.backward()
""",
    "gumbel": """w = torch.rand(4, requires_grad=True)
g = F.gumbel_softmax(w, hard=True).sum()
g.backward()
g.backward()
""",
    "adaptive3": """w = torch.rand(1, 1, 4, 4, 4, requires_grad=True)
g = F.adaptive_avg_pool3d(w + 1, 1).sum()
g.backward()
g.backward()
""",
    "requires_false": """m = nn.Linear(2, 2)
m.requires_grad_(False)
y = m(torch.ones(2)).sum()
y.backward()
""",
    "rms": """w = torch.ones(4, requires_grad=True)
y = F.rms_norm(w * 2, (4,)).sum()
y.backward()
y.backward()
""",
    "weight_norm_step": """from torch.nn.utils.parametrizations import weight_norm

m = nn.Sequential(weight_norm(nn.Linear(2, 2)), nn.Tanh())
o = torch.optim.SGD(m.parameters(), 0.1)
y = m(torch.ones(1, 2)).sum()
y.backward(retain_graph=True)
o.step()
y.backward()
""",
    "spectral_conv": """from torch.nn.utils import spectral_norm

m = nn.Sequential(spectral_norm(nn.Conv2d(1, 2, 3)), nn.LeakyReLU(0.2, inplace=True), nn.Flatten())
o = torch.optim.SGD(m.parameters(), 0.1)
for i in range(2):
    r = m(torch.ones(1, 1, 4, 4)).mean()
    f = m(torch.zeros(1, 1, 4, 4)).mean()
    o.zero_grad()
    (r - f).backward()
    o.step()
""",
    "remove_wn": """from torch.nn.utils import weight_norm, remove_weight_norm

m = weight_norm(nn.Linear(2, 2))
remove_weight_norm(m)
for i in range(2):
    m(torch.ones(1, 2)).sum().backward()
""",
    "rnn_pack": """from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

g = nn.GRU(2, 2, batch_first=True)
for i in range(2):
    p = pack_padded_sequence(torch.ones(1, 3, 2), torch.tensor([3]), batch_first=True)
    o, h = g(p)
    o, _ = pad_packed_sequence(o, batch_first=True)
    o.sum().backward()
""",
    "packed_output_and_state_walked_apart": """from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

g = nn.LSTM(2, 2, batch_first=True)
o, (h, c) = g(pack_padded_sequence(torch.ones(1, 3, 2), [3], batch_first=True))
o, _ = pad_packed_sequence(o, batch_first=True)
o.sum().backward()
h.sum().backward()
""",
    "data_of_what_is_packed": """from torch.nn.utils.rnn import pack_padded_sequence

g = nn.LSTM(2, 2, batch_first=True)
linear = nn.Linear(2, 2)
for _ in range(2):
    packed = pack_padded_sequence(torch.ones(1, 3, 2), [3], batch_first=True)
    target = pack_padded_sequence(torch.ones(1, 3), [3], batch_first=True).data
    o, _ = g(packed)
    (linear(o.data).sum() + linear(o[0]).sum() - target.sum()).backward()
""",
    "contiguous_copy_of_a_leaf": """w = torch.zeros(1, requires_grad=True)
y = w.unsqueeze(-1).expand(2, 3).contiguous()
y[..., 1:] = 0
y.sum().backward()
""",
}
