"""What the name of a distribution in `torch.distributions` says of its draws: numbers that a gradient flows through, or choices."""

from __future__ import annotations

REALS = frozenset(
    """
    Beta Cauchy Chi2 ContinuousBernoulli Dirichlet Exponential FisherSnedecor Gamma GeneralizedPareto Gumbel HalfCauchy
    HalfNormal InverseGamma Kumaraswamy Laplace LogNormal LogisticNormal LowRankMultivariateNormal MultivariateNormal Normal
    Pareto RelaxedBernoulli RelaxedOneHotCategorical StudentT Uniform Weibull Wishart
    """.split()
)
"""Those of real numbers, which have an `rsample()`."""

CHOICES = frozenset(
    "Bernoulli Binomial Categorical Geometric Multinomial NegativeBinomial OneHotCategorical Poisson".split()
)
"""Those of which nothing flows back."""
