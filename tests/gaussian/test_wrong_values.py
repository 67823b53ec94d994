"""Wrong values, in every public function of `mixjax.gaussian`: they raise in an eager call and give NaN under `jit`."""

from __future__ import annotations

import itertools
from functools import partial

import jax
import numpy as np
import pytest

from mixjax import gaussian
from mixjax.gaussian import ScoreLaw

KEY = jax.random.key(0, impl="threefry2x32")
X, Y = np.array([[1.0, 2.0], [0.5, -1.0], [0.0, 1.0]]), np.array([1.0, -1.0, 1.0])
SETS = gaussian.sample_training_sets(KEY, n=10.0, p=3.0, theta_norm=1.0, replicates=3)
LAW = ScoreLaw(np.array([1.0, 2.0]), np.array([0.5, -0.5]))

NOT_COUNTS = (0.0, 2.5, -1.0, 1e11, np.nan, np.inf)
NEGATIVE, NOT_POSITIVE = (-0.5, np.nan, np.inf), (0.0, -1.0, np.nan, np.inf)
NOT_SHARES = (-0.1, 1.7, np.nan, np.inf)
OF = {
    **dict.fromkeys(("n", "p", "n_held_out", "n_labeled"), NOT_COUNTS),
    "n_unlabeled": (2.5, -1.0, 1e11, np.nan, np.inf),
    **dict.fromkeys(("theta_norm", "test_norm", "unlabeled_norm", "ratio", "alpha"), NEGATIVE),
    **dict.fromkeys(("labeled_ratio", "unlabeled_ratio"), NEGATIVE),
    "cosine": (-1.5, 1.1, np.nan, np.inf),
    **dict.fromkeys(("sigma", "beta", "ece", "penalty"), NOT_POSITIVE),
    **dict.fromkeys(("t", "lam", "confidence"), NOT_SHARES),
    "pairs_ratio": (0.0, -1.0, np.nan),
    "positive_rate": (-0.1, 0.0, 1.0, np.nan, np.inf),
    "smoothing": (-0.1, 1.0, np.nan, np.inf),
}

MODEL, OOD = {"n": 10.0, "p": 3.0, "theta_norm": 1.0, "sigma": 2.0}, {"test_norm": 1.0, "cosine": 0.5}
LOGISTIC = {"penalty": 0.1, "alpha": 1.0, "smoothing": 0.1}
LIMIT, BETA = {"ratio": 1.0, "theta_norm": 2.0}, {"alpha": 1.0, "beta": 2.0}
FAST = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}  # NaN is NaN

# function -> (a call by the names of its values, right values...); a wrong one must turn all that it returns into NaN
CALLS = {
    "weighted_estimator": (partial(gaussian.weighted_estimator, X, Y), {"t": 0.3}),
    "mixup_estimator": (partial(gaussian.mixup_estimator, X, Y), BETA),
    "fixed_lam_estimator": (partial(gaussian.fixed_lam_estimator, X, Y), {"lam": 0.3}),
    "random_pairs_estimator": (partial(gaussian.random_pairs_estimator, KEY, X, Y, num_pairs=3), BETA),
    "mixed_rows": (partial(gaussian.mixed_rows, KEY, X, Y, num_pairs=3), BETA),
    "ridge_coefficients": (partial(gaussian.ridge_coefficients, X, Y), {"t": 0.3, "penalty": 0.1}),
    "ridge_estimator": (partial(gaussian.ridge_estimator, X, Y), {"t": 0.3, "penalty": 0.1}),
    "limit_ridge_scores": (gaussian.limit_ridge_scores, {**LIMIT, "t": 0.3, "penalty": 0.1}),
    "logistic_coefficients": (partial(gaussian.logistic_coefficients, X, Y), {"penalty": 0.1}),
    "mixup_logistic_coefficients": (partial(gaussian.mixup_logistic_coefficients, X, Y), LOGISTIC),
    "limit_logistic_scores": (gaussian.limit_logistic_scores, {**LIMIT, **LOGISTIC}),
    "predict_logistic_scores": (partial(gaussian.predict_logistic_scores, X[0], X[0]), {"n": 10.0, **LOGISTIC}),
    "separable_ratio": (gaussian.separable_ratio, {"theta_norm": 2.0}),
    "expected_errors": (partial(gaussian.expected_errors, num_nodes=4), {**MODEL, "t": 0.3}),
    "best_weight": (gaussian.best_weight, LIMIT),
    "critical_weight": (gaussian.critical_weight, LIMIT),
    "critical_weight, MCE": (partial(gaussian.critical_weight, norm=np.inf), LIMIT),
    "critical_ratio": (  # also without Mixup and without signal
        gaussian.critical_ratio,
        *({"theta_norm": theta, "t": t} for theta, t in ((2.0, 0.3), (2.0, 0.0), (0.0, 0.3))),
    ),
    "critical_ratio, MCE": (partial(gaussian.critical_ratio, norm=np.inf), {"theta_norm": 2.0, "t": 0.3}),
    "derivative_at_zero": (gaussian.derivative_at_zero, {**LIMIT, "beta": 1.0}),
    "derivative_at_zero, MCE": (partial(gaussian.derivative_at_zero, norm=np.inf), {**LIMIT, "beta": 1.0}),
    "derivative_slope": (gaussian.derivative_slope, {**LIMIT, "beta": 1.0}),
    "turning_ratio": (gaussian.turning_ratio, {"theta_norm": 2.0}),
    "best_ood_weight": (gaussian.best_ood_weight, {**LIMIT, **OOD}),
    "limit_ood_scores": (gaussian.limit_ood_scores, {**LIMIT, **OOD, "t": 0.3}),
    "sample_ood_scores": (partial(gaussian.sample_ood_scores, KEY, replicates=3), {**MODEL, **OOD, "t": 0.3}),
    "pseudo_label_estimators": (lambda t: gaussian.pseudo_label_estimators(X, Y, X, t)["mix"], {"t": 0.3}),
    "sample_pseudo_label_scores": (  # of t depends "mix" alone
        partial(gaussian.sample_pseudo_label_scores, KEY, t=0.3, replicates=3, sums="gaussian"),
        {"n_labeled": 5.0, "n_unlabeled": 8.0, "p": 3.0, "theta_norm": 1.0, "unlabeled_norm": 1.0, "cosine": 0.5},
    ),
    "limit_pseudo_label_scores": (
        lambda **values: gaussian.limit_pseudo_label_scores(**values)["mix"],
        dict(labeled_ratio=1.0, unlabeled_ratio=0.5, theta_norm=2.0, t=0.3, unlabeled_norm=1.5, cosine=0.5),
    ),
    "overshoot_ratio": (gaussian.overshoot_ratio, {"labeled_ratio": 12.0, "theta_norm": 2.0}),
    "limit_scores": (gaussian.limit_scores, {**LIMIT, "t": 0.3}),
    "class_mean": (partial(gaussian.class_mean, 3), {"theta_norm": 1.0}),
    "sample_data": (
        lambda sigma: gaussian.sample_data(KEY, n=3, theta=X[0], sigma=sigma)[0],  # labels do not depend on sigma
        {"sigma": 2.0},
    ),
    "reliability_curve": (partial(gaussian.reliability_curve, LAW), {"confidence": 0.7}),
    **{
        f"sample_scores, {sigma_estimate}": (
            partial(gaussian.sample_scores, KEY, replicates=3, sigma_estimate=sigma_estimate),
            {**MODEL, "t": 0.3},
        )
        for sigma_estimate in ("known", "paper", "pooled")
    },
    "sample_training_sets": (
        lambda t, replicates=3, **values: gaussian.sample_training_sets(KEY, replicates=replicates, **values).scores(t),
        {**MODEL, "t": 0.3},
    ),
    "scale_on_held_out": (
        lambda n_held_out: gaussian.scale_on_held_out(SETS, SETS.scores(0.3), n_held_out=n_held_out),
        {"n_held_out": 200.0},
    ),
    "sample_linear_scores": (
        partial(gaussian.sample_linear_scores, KEY, np.ones((2, 3)), np.ones((2, 3, 1))),
        {"p": 3.0, "theta_norm": 1.0, "sigma": 2.0},
    ),
    "sample_pairs_scores": (
        partial(gaussian.sample_pairs_scores, KEY, n=4, num_pairs=(3,), replicates=3),
        {"p": 3.0, "theta_norm": 1.0, **BETA, "sigma": 2.0},
    ),
    "limit_pairs_scores": (gaussian.limit_pairs_scores, {**LIMIT, "pairs_ratio": 3.0, **BETA}),
    "with_positive_rate": (
        lambda positive_rate: gaussian.with_positive_rate(SETS, positive_rate).scores(0.3),
        {"positive_rate": 0.3},
    ),
    "limit_imbalanced_scores": (gaussian.limit_imbalanced_scores, {**LIMIT, "t": 0.3, "positive_rate": 0.3}),
    "class_means": (partial(gaussian.class_means, 3, 4), {"theta_norm": 1.0}),
    "class_estimator": (partial(gaussian.class_estimator, X, np.arange(3), num_classes=3), {"t": 0.3}),
    "best_class_weight": (partial(gaussian.best_class_weight, num_classes=3), LIMIT),
    "sample_class_sets": (
        partial(gaussian.sample_class_sets, KEY, num_classes=3, replicates=2),
        {"n": 10.0, "p": 5.0, "theta_norm": 1.0},
    ),
    "limit_class_sets": (partial(gaussian.limit_class_sets, num_classes=3), LIMIT),
    "limit_class_ece": (partial(gaussian.limit_class_ece, KEY, num_classes=3, num_draws=20), {**LIMIT, "t": 0.3}),
    "imbalanced_ece": (partial(gaussian.imbalanced_ece, LAW), {"positive_rate": 0.3}),
    "estimated_weight": (partial(gaussian.estimated_weight, X), {"n": 10.0, "sigma": 2.0}),
    "held_out_ece": (partial(gaussian.held_out_ece, LAW), {"n_held_out": 200.0}),
    "held_out_size_matching": (partial(gaussian.held_out_size_matching, LAW), {"ece": 0.1}),
    **{
        f"critical_held_out_ratio, {weight}": (partial(gaussian.critical_held_out_ratio, weight=weight), LIMIT)
        for weight in ("best", "estimated")
    },
    "score_law": (partial(gaussian.score_law, X, X[0]), {"sigma": 2.0}),
    "mixup_weight": (gaussian.mixup_weight, BETA),
    "symmetric_alpha": (gaussian.symmetric_alpha, {"t": 0.3}),
}

# what a value may be in some functions only
ALSO_WRONG = {
    ("critical_ratio", "t"): (1.0,), ("symmetric_alpha", "t"): (0.6,), ("limit_ridge_scores", "t"): (1.0,),
    ("sample_class_sets", "p"): (2.0,),  # fewer than classes
}  # fmt: skip

# the values that are one number; the others broadcast
SCALARS = {
    **{name: ("t",) for name in ("weighted_estimator", "pseudo_label_estimators", "class_estimator")},
    **{name: ("alpha", "beta") for name in ("mixup_estimator", "random_pairs_estimator", "mixed_rows")},
    **{name: ("t", "penalty") for name in ("ridge_coefficients", "ridge_estimator")},
    **{name: ("theta_norm",) for name in ("class_mean", "class_means")},
    "fixed_lam_estimator": ("lam",),
    "logistic_coefficients": ("penalty",),
    "mixup_logistic_coefficients": ("penalty", "alpha", "smoothing"),
    "sample_data": ("sigma",),
    "sample_pairs_scores": ("alpha", "beta"),
}

# sizes that are static, with the least that each may be
LEAST = {
    **{name: {"num_pairs": 1} for name in ("random_pairs_estimator", "mixed_rows")},
    **{name: {"replicates": 1} for name in ("sample_ood_scores", "sample_pseudo_label_scores", "sample_scores, known")},
    "sample_training_sets": {"replicates": 1},
    **{name: {"num_classes": 2} for name in ("best_class_weight", "limit_class_sets", "class_estimator")},
    "expected_errors": {"num_nodes": 4},
    "sample_pairs_scores": {"n": 1, "replicates": 1},
    "sample_class_sets": {"num_classes": 2, "replicates": 1},
    "limit_class_ece": {"num_classes": 2, "num_draws": 2},
}

# no rule: whether something is so, vectors of data, and the two numbers of a law, which gives NaN where its variance is
# not positive
NO_RULES = {
    "CalibrationErrors", "ClassMoments", "ClassSets", "ScoreLaw", "TemperatureFit", "TrainingSets", "Whitening",
    "at_best_temperature", "class_ece", "class_moments", "fit_whitening", "mean_estimator", "mixup_can_help_ood",
    "mixup_helps_ood", "population_accuracy", "population_brier", "population_ece", "population_errors",
    "population_mce", "population_nll", "population_signed_gap", "scaled_ece", "sigma_estimator",
}  # fmt: skip


def wrong_rows(function):
    """(name, wrong value, all values) of a function, each with one value that is wrong."""
    for right in CALLS[function][1:]:
        for name in right:
            for value in (*OF[name], *ALSO_WRONG.get((function.split(",")[0], name), ())):
                yield name, value, right | {name: value}


def test_every_public_function_is_here():
    public = {name for name in gaussian.__all__ if callable(getattr(gaussian, name))}
    assert public == NO_RULES | {name.split(",")[0] for name in CALLS}


# a second and more to compile
LONG = {
    "limit_logistic_scores", "mixup_logistic_coefficients", "predict_logistic_scores",
    "best_weight", "critical_ratio", "derivative_at_zero", "expected_errors", "mixup_estimator", "sample_class_sets",
    "sample_linear_scores", "sample_ood_scores", "sample_pairs_scores", "sample_pseudo_label_scores",
    "scale_on_held_out", "turning_ratio", "with_positive_rate",
}  # fmt: skip


def together():
    """Groups of functions whose right and wrong values are the same: XLA compiles what they share once."""
    groups = {}
    for function in CALLS:
        long, rows = function in LONG, repr([row for *_, row in wrong_rows(function)])
        groups.setdefault((long, rows), []).append(function)
    return [
        pytest.param(group, id=" and ".join(group), marks=[pytest.mark.slow] * long)
        for (long, _), group in groups.items()
    ]


@pytest.mark.medium
@pytest.mark.parametrize("functions", together())
def test_wrong_values_are_nan_under_jit(functions):
    """Each wrong value makes all of its own entry NaN; right values give numbers. One program for all entries."""
    rights, wrong = CALLS[functions[0]][1:], list(wrong_rows(functions[0]))
    rows = [*rights, *(row for *_, row in wrong)]
    batch = {name: np.array([row[name] for row in rows]) for name in rights[0]}
    program = jax.jit(jax.vmap(lambda values: {name: CALLS[name][0](**values) for name in functions}))
    for function, found in program.lower(batch).compile(FAST)(batch).items():
        for leaf in jax.tree.leaves(found):
            leaf = np.asarray(leaf).reshape(len(rows), -1)
            assert np.isfinite(leaf[: len(rights)]).all(), function
            numbers = zip(wrong, ~np.isnan(leaf[len(rights) :]).all(axis=1), strict=True)
            assert not [row[:2] for row, is_number in numbers if is_number], function


@pytest.mark.parametrize("function", CALLS)
def test_wrong_values_raise_eagerly(function):
    for name, value, row in wrong_rows(function):
        with pytest.raises(ValueError, match=rf"^{name} must be .*, got {value}$"):
            CALLS[function][0](**row)


def test_arrays_in_place_of_one_number_are_refused():
    """Of shapes that would broadcast with two or three coordinates, and of one entry."""
    for function, names in SCALARS.items():
        call, right = CALLS[function]
        for name, size in itertools.product(names, (1, 2, 3)):
            with pytest.raises(ValueError, match=rf"^{name} must be one number, got an array of shape \({size},\)$"):
                call(**right | {name: np.full(size, right[name])})


def test_sizes_have_a_least_value():
    for function, sizes in LEAST.items():
        call, right = CALLS[function]
        for name, least in sizes.items():
            with pytest.raises(ValueError, match=rf"^{name} must be at least {least}, got {least - 1}$"):
                call(**right | {name: least - 1})


KEYED = [name for name, (call, *_) in CALLS.items() if any(value is KEY for value in getattr(call, "args", ()))]


@pytest.mark.parametrize("function", KEYED)
def test_an_array_of_keys_is_refused(function):
    call, right = CALLS[function]
    with pytest.raises(ValueError, match="key must be a single key, got an array of keys of shape"):
        call.func(jax.random.split(KEY), *call.args[1:], **call.keywords, **right)
