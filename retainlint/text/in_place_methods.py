"""What the name of a method says of a change in place: whether it gives a view, and whether its twin out of place exists."""

from __future__ import annotations

VIEWS = frozenset("diagonal narrow select view view_as transpose t permute unsqueeze squeeze flatten movedim".split())
"""Methods that give a view, through which the tensor itself changes."""

FILLS = frozenset(
    "copy zero fill fill_diagonal normal uniform random exponential cauchy geometric log_normal apply map map2 set".split()
)
"""Methods whose name with an underscore puts into a tensor what isn't made of it; without one it is none, or does something else."""

UNPAIRED = FILLS | frozenset(
    "bernoulli requires_grad detach data index_put trunc_normal xavier_uniform kaiming_uniform constant ones zeros".split()
)
"""These, and all others of which the same is true."""
