"""Files of pools: ordinary models whose members' weights stand beside the collapsed ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pool_cases import data, trained

import fieldcraft as fc
from fieldcraft.errors import InputError, ModelFileError
from fieldcraft.store.files import read_arrays, write_arrays

X, Y = data(12, seed=4)
WEIGHTS = [0.25, 0.75]


def pools() -> dict[str, Any]:
    members = [trained(0, words="pqrs"), trained(1, 20.0, words="rstu")]
    return {
        "log": fc.LogOpinionPool({"a": members[0], "b": members[1]}, weights=WEIGHTS),
        "log, position": fc.LogOpinionPool(members, weights=WEIGHTS, per="position"),
        "linear": fc.LinearOpinionPool(members, weights=WEIGHTS),
        "linear, position": fc.LinearOpinionPool(members, weights=WEIGHTS, per="position"),
        "product": fc.LogOpinionPool(members, product=True),
    }


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("name", pools())
def test_a_file_keeps_a_pool(name: str, compact: bool, tmp_path: Path) -> None:
    pool, path = pools()[name], tmp_path / "pool.fc"
    pool.save(path, compact=compact)
    again: Any = fc.load(path)
    assert type(again) is type(pool)
    assert again.pool_weights_.tolist() == pool.pool_weights_.tolist()
    assert again.member_names_ == pool.member_names_
    np.testing.assert_allclose(again.log_probability(X, Y), pool.log_probability(X, Y), rtol=1e-12)
    assert again.predict(X).tolist() == pool.predict(X).tolist()
    assert again.get_params()["per"] == pool.per


def test_kinds_and_arrays(tmp_path: Path) -> None:
    for name, kind in {"log": "log_pool", "linear": "linear_pool"}.items():
        pools()[name].save(tmp_path / "pool.fc")
        header, arrays = read_arrays(tmp_path / "pool.fc")
        assert header["kind"] == kind
        assert arrays["members.weights"].shape == (2, len(arrays["weights"]))


def test_tagging_reads_the_collapsed_weights_only(tmp_path: Path) -> None:
    """The members stay in the file until something asks for them."""
    pools()["log"].save(tmp_path / "pool.fc")
    again: Any = fc.load(tmp_path / "pool.fc")
    again.predict(X)
    again.predict_proba(X)
    assert again._combined is None
    assert not again._stored.flags.owndata
    assert len(again.members_) == 2
    for member, original in zip(again.members_, pools()["log"].members_):
        np.testing.assert_allclose(member.log_probability(X, Y), original.log_probability(X, Y), rtol=1e-12)


def test_compact_leaves_out_the_members(tmp_path: Path) -> None:
    sizes = {}
    for compact in (False, True):
        pools()["log"].save(tmp_path / "pool.fc", compact=compact)
        sizes[compact] = (tmp_path / "pool.fc").stat().st_size
    assert sizes[True] < sizes[False]
    again: Any = fc.load(tmp_path / "pool.fc")
    for question in (lambda: again.members_, lambda: fc.diversity(again, X), lambda: again.weigh(X, Y)):
        with pytest.raises(InputError, match="compact=True, which leaves them out"):
            question()
    again.save(tmp_path / "again.fc")
    assert fc.load(tmp_path / "again.fc").predict(X).tolist() == again.predict(X).tolist()


def test_a_loaded_pool_is_weighed_and_saved_again(tmp_path: Path) -> None:
    pools()["log"].save(tmp_path / "pool.fc")
    again: Any = fc.load(tmp_path / "pool.fc")
    again.weigh(X, Y).save(tmp_path / "again.fc")
    last: Any = fc.load(tmp_path / "again.fc")
    np.testing.assert_allclose(last.pool_weights_, again.pool_weights_, rtol=1e-12)
    np.testing.assert_allclose(last.log_probability(X, Y), again.log_probability(X, Y), rtol=1e-12)


def test_zeros_and_single_precision(tmp_path: Path) -> None:
    """Features without a weight in any member are left out, those with one in some member stay."""
    model = fc.ChainCRF(prior=fc.Laplacian(scale=0.3), n_jobs=1)
    pool = fc.LogOpinionPool(fc.experts.bagged(model, 2)).fit(X, Y)
    pool.save(tmp_path / "pool.fc")
    again: Any = fc.load(tmp_path / "pool.fc")
    used = pool._side_by_side().weights.any(axis=0)
    assert len(again.weights_) == np.count_nonzero(used) < len(used)
    np.testing.assert_allclose(again.log_probability(X, Y), pool.log_probability(X, Y), rtol=1e-12)
    pool.save(tmp_path / "small.fc", float32=True)
    assert read_arrays(tmp_path / "small.fc")[1]["members.weights"].dtype == np.float32
    np.testing.assert_allclose(
        fc.load(tmp_path / "small.fc").log_probability(X, Y), pool.log_probability(X, Y), rtol=1e-4
    )


def test_damaged_members_are_an_error(tmp_path: Path) -> None:
    pools()["log"].save(tmp_path / "pool.fc")
    header, arrays = read_arrays(tmp_path / "pool.fc", mapped=False)
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {"members.weights": arrays["members.weights"][:1]}),
        ({}, {"members.weights": arrays["members.weights"].astype(np.int32)}),
        ({"pool": {"names": ["a"], "weights": WEIGHTS}}, {}),
        ({"pool": {"names": [1, 2], "weights": WEIGHTS}}, {}),
        ({"pool": {}}, {}),
    ]
    for other, replaced in cases:
        kept = {k: v for k, v in arrays.items() if k != "checksums"}
        fields = {k: v for k, v in header.items() if k not in ("checksums", "format")}
        write_arrays(tmp_path / "bad.fc", {**fields, **other}, {**kept, **replaced})
        with pytest.raises(ModelFileError, match="damaged"):
            fc.load(tmp_path / "bad.fc")


def test_refused_answers(tmp_path: Path) -> None:
    linear = pools()["linear"]
    for question in (lambda: linear.k_best(X, 2), lambda: linear.entropy(X), lambda: linear.log_partition(X)):
        with pytest.raises(InputError, match="a linear pool is a mixture"):
            question()
    for pool in (linear, pools()["log, position"]):
        for question in (
            lambda p=pool: p.explain(X[0]),
            lambda p=pool: p.inspect(),
            lambda p=pool: p.weights_,
        ):
            with pytest.raises(InputError, match="not one model with a weight for each feature"):
                question()
    with pytest.raises(InputError, match="choose one of sequence, position"):
        fc.LogOpinionPool([trained(0)], per="token").predict(X)
