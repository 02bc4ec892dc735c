"""The paper's propositions on tabular problems, where everything can be computed exactly, with NumPy alone.

A car takes the short road past a hazard, or the long one. States: start, grazing, inside, home.

>>> import numpy as np
>>> from ascpo import theory
>>> depth = np.array([0.0, 0.1, 0.3, 0.0])
>>> short = [[0, 0.3, 0.2, 0.5], [0, 0, 0.5, 0.5], [0, 0, 0, 1], [0, 0, 0, 1]]
>>> long = [[0, 0.1, 0, 0.9], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 1]]
>>> road = theory.TabularMDP(
...     P=np.stack([short, long], axis=1), D=np.broadcast_to(depth, (4, 2, 4)), mu=np.eye(4)[0], horizon=2
... )
>>> worst = theory.maximum_mdp(road)  # costs that add up to the worst depth of the episode
>>> pi = worst.lift(np.full((4, 2), 0.5))
>>> round(theory.mean(worst.mdp, pi), 6), round(theory.variance(worst.mdp, pi), 6)
(0.06, 0.0114)
>>> theory.law_of_return(worst.mdp, pi).values.tolist()
[0.0, 0.1, 0.3]

`tabular` defines the problem, `law` computes the distribution of the return by brute force, `moments` has the
recursions, `maximum` the maximum MDP, `difference` and `bounds` the effect of a change of policy, and `cantelli` the
guarantees from mean and variance. `printed` keeps the paper's wrong forms for the tests. See docs/theory.md.
"""

from ascpo.theory.bounds import (
    advantage_change,
    advantage_change_bound,
    constraint_bound,
    mean_bounds,
    mean_variance_change_bound,
    omega_change_bound,
    value_difference_bound,
    variance_mean_bound,
)
from ascpo.theory.cantelli import (
    confidence_of_deviation,
    confidence_of_variance,
    deviation_bound,
    k_for,
    kappa_for,
    moment_bound,
    turning_point,
    variance_bound,
)
from ascpo.theory.difference import (
    divergence,
    first_order_difference,
    mean_advantages,
    total_variation,
    value_difference,
)
from ascpo.theory.law import Law, law_of_return
from ascpo.theory.maximum import MaximumMDP, maximum_mdp
from ascpo.theory.moments import (
    advantages,
    mean,
    mean_variance,
    omega,
    second_moment,
    values,
    variance,
    variance_mean,
    variances,
    visitation,
)
from ascpo.theory.tabular import TabularMDP

__all__ = [
    "Law",
    "MaximumMDP",
    "TabularMDP",
    "advantage_change",
    "advantage_change_bound",
    "advantages",
    "confidence_of_deviation",
    "confidence_of_variance",
    "constraint_bound",
    "deviation_bound",
    "divergence",
    "first_order_difference",
    "k_for",
    "kappa_for",
    "law_of_return",
    "maximum_mdp",
    "mean",
    "mean_advantages",
    "mean_bounds",
    "mean_variance",
    "mean_variance_change_bound",
    "moment_bound",
    "omega",
    "omega_change_bound",
    "second_moment",
    "total_variation",
    "turning_point",
    "value_difference",
    "value_difference_bound",
    "values",
    "variance",
    "variance_bound",
    "variance_mean",
    "variance_mean_bound",
    "variances",
    "visitation",
]
