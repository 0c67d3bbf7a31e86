"""Options and output that the commands of pools share."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, Any

from fieldcraft.cli.options import panel
from fieldcraft.errors import InputError

in_pool = panel("The pool")
in_cooperation = panel("Training together")

Weights = Annotated[
    str,
    in_pool(
        help="Of the members: uniform, likelihood, held-out (on --dev), or numbers that sum to one: 0.6,0.4."
    ),
]
Linear = Annotated[
    bool,
    in_pool("--linear", help="Average probabilities (a mixture) instead of their logarithms (one model)."),
]
Per = Annotated[str, in_pool(metavar="sequence|position", help="Pool whole labellings, or each position.")]
Product = Annotated[
    bool, in_pool("--product", help="Product of experts: weights of 1, trained by the product's likelihood.")
]


def read_weights(text: str) -> Any:
    """The parameter ``weights`` of a pool.

    >>> read_weights("held-out"), read_weights("0.6,0.4")
    ('held_out', [0.6, 0.4])
    """
    if text[:1].isalpha():
        return text.replace("-", "_")
    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        raise InputError(
            f"--weights {text}: write uniform, likelihood, held-out, or numbers: 0.6,0.4"
        ) from None
    from fieldcraft.pools.weights import CLOSE

    if not (min(numbers) >= 0.0 and abs(sum(numbers) - 1.0) <= CLOSE):
        raise InputError(f"--weights {text}: they must not be negative and must sum to one")
    return numbers


@dataclass
class Cooperation:
    """Training of the members together."""

    cooperative: Annotated[
        bool,
        in_cooperation("--cooperative", help="Train the members together, with a penalty on being alike."),
    ] = False
    gamma: Annotated[float, in_cooperation(min=0.0, help="How much diversity counts.")] = 1.0
    penalty: Annotated[
        str, in_cooperation(metavar="inverse|inverse-square", help="On the ambiguity A: 1 / A or 1 / A^2.")
    ] = "inverse"
    weighted: Annotated[
        bool, in_cooperation("--weighted", help="Count members' likelihoods with their weights.")
    ] = False
    train_weights: Annotated[
        bool, in_cooperation("--train-weights", help="Train the members' weights, too.")
    ] = False
    prime: Annotated[
        bool,
        in_cooperation("--prime/--no-prime", help="Train members by themselves first, or start at random."),
    ] = True

    def settings(self) -> dict[str, Any]:
        """The parameters of a CooperativePool."""
        return {
            "gamma": self.gamma,
            "penalty": self.penalty.replace("-", "_"),
            "weighted": self.weighted,
            "train_weights": self.train_weights,
            "prime": self.prime,
        }


def make_pool(
    members: Any,
    *,
    linear: bool,
    product: bool,
    per: str,
    cooperation: Cooperation | None = None,
    **settings: Any,
) -> Any:
    """A pool, not trained yet."""
    from fieldcraft.pools.cooperative import CooperativePool
    from fieldcraft.pools.linear import LinearOpinionPool
    from fieldcraft.pools.logarithmic import LogOpinionPool

    if cooperation is not None and cooperation.cooperative:
        if linear or product or per != "sequence":
            raise InputError(
                "--cooperative trains a logarithmic pool of whole labellings; leave out --linear, --product "
                "and --per position"
            )
        return CooperativePool(members, **cooperation.settings(), **settings)
    settings["per"] = per
    if not linear:
        return LogOpinionPool(members, product=product, **settings)
    if product:
        raise InputError("--product multiplies the members, --linear averages them; choose one")
    return LinearOpinionPool(members, **settings)


def load_pool(path: str, jobs: int | None) -> Any:
    """A pool from its file."""
    from fieldcraft.cli.loading import load_model
    from fieldcraft.pools.pool import Pool

    model = load_model(path, jobs)
    if not isinstance(model, Pool):
        raise InputError(f"{path} is one model, no pool; `fieldcraft pool combine` or `pool train` makes one")
    return model


def say_saved(pool: Any, path: str, *, quiet: bool) -> None:
    """Print where the pool went, and the weights of its members."""
    if quiet:
        return
    listed = (f"{name} {weight:.4g}" for name, weight in zip(pool.member_names_, pool.pool_weights_))
    n = len(pool.member_names_)
    print(f"wrote {path}: {n} member{'s' * (n > 1)}: {', '.join(listed)}", file=sys.stderr)
