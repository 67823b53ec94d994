"""The Gaussian model of the paper: exact calibration errors, finite-sample laws, and limits.

The paper, a file each:

    model, estimators      Definition 3.1 and (eq:C), (eq:Cmix): literal data, and the estimators of the mean
    weights                (alpha, beta) of Mixup -> its weight t, on which the estimator depends
    law                    `ScoreLaw`, the two numbers of a classifier on which its calibration depends
    population, maximum    ECE, MCE, accuracy, NLL and Brier score of a law
    samplers               the exact law over training sets, at any n and p; `training_sets`, before t is chosen
    expectations           the expected errors of the same, without sampling
    limits, capacity       p/n -> c: Theorems 3.1, 3.2, 5.1, 5.2; derivatives at no Mixup: Theorems 3.3, 5.3
    ood                    Theorem 3.4: test data of another mean
    pseudo_label           Algorithm 1, Theorems 4.1 to 4.3; many unlabeled points in `pseudo_label_limits`
    claims                 every theorem as a signed number: `claims.CLAIMS["4.3"]`

Beyond the paper, in `logistic`: the classifier that people train, penalized logistic regression with Mixup and label
smoothing, and its exact limit. In `beyond`: any linear estimator (`linear`), finitely many pairs (`random_pairs`), a
ridge, temperature scaling on held-out points (`temperature`, `temperature_limits`), a weight chosen from the training
set (`estimated_weight`), classes of unequal size (`imbalance`, `imbalanced_ece`), more than two (`classes`,
`class_sets`, `class_ece`), and `whitening`, which brings real rows near the model.

Arguments that are data broadcast, and changing them does not recompile. A shape or a value that is wrong raises
ValueError; under `jit`, where values are unknown, the result is NaN.
"""

from mixjax.gaussian.beyond.class_ece import class_ece
from mixjax.gaussian.beyond.class_sets import ClassSets, limit_class_sets, sample_class_sets
from mixjax.gaussian.beyond.classes import best_class_weight, class_estimator, class_means, limit_class_ece
from mixjax.gaussian.beyond.estimated_weight import estimated_weight
from mixjax.gaussian.beyond.imbalance import limit_imbalanced_scores, with_positive_rate
from mixjax.gaussian.beyond.imbalanced_ece import imbalanced_ece
from mixjax.gaussian.beyond.linear import sample_linear_scores
from mixjax.gaussian.beyond.random_pairs import limit_pairs_scores, sample_pairs_scores
from mixjax.gaussian.beyond.ridge import limit_ridge_scores, ridge_coefficients, ridge_estimator
from mixjax.gaussian.beyond.temperature import TemperatureFit, at_best_temperature, scale_on_held_out, scaled_ece
from mixjax.gaussian.beyond.temperature_limits import critical_held_out_ratio, held_out_ece, held_out_size_matching
from mixjax.gaussian.beyond.whitening import Whitening, fit_whitening
from mixjax.gaussian.capacity import derivative_at_zero, derivative_slope, turning_ratio
from mixjax.gaussian.estimators import (
    fixed_lam_estimator,
    mean_estimator,
    mixed_rows,
    mixup_estimator,
    pseudo_label_estimators,
    random_pairs_estimator,
    sigma_estimator,
    weighted_estimator,
)
from mixjax.gaussian.expectations import expected_errors
from mixjax.gaussian.law import ScoreLaw, score_law
from mixjax.gaussian.limits import best_weight, critical_ratio, critical_weight, limit_scores
from mixjax.gaussian.logistic.all_pairs import mixup_logistic_coefficients
from mixjax.gaussian.logistic.features import ClassMoments, class_moments
from mixjax.gaussian.logistic.fit import logistic_coefficients
from mixjax.gaussian.logistic.limit import limit_logistic_scores, predict_logistic_scores, separable_ratio
from mixjax.gaussian.maximum import population_mce
from mixjax.gaussian.model import class_mean, sample_data
from mixjax.gaussian.ood import (
    best_ood_weight,
    limit_ood_scores,
    mixup_can_help_ood,
    mixup_helps_ood,
    sample_ood_scores,
)
from mixjax.gaussian.population import (
    CalibrationErrors,
    population_accuracy,
    population_brier,
    population_ece,
    population_errors,
    population_nll,
    population_signed_gap,
    reliability_curve,
)
from mixjax.gaussian.pseudo_label import sample_pseudo_label_scores
from mixjax.gaussian.pseudo_label_limits import limit_pseudo_label_scores, overshoot_ratio
from mixjax.gaussian.samplers import sample_scores
from mixjax.gaussian.training_sets import TrainingSets, sample_training_sets
from mixjax.gaussian.weights import mixup_weight, symmetric_alpha

__all__ = [
    "CalibrationErrors", "ClassMoments", "ClassSets", "ScoreLaw", "TemperatureFit", "TrainingSets", "Whitening",
    "at_best_temperature", "best_class_weight", "best_ood_weight", "best_weight", "class_ece", "class_estimator",
    "class_mean", "class_means", "class_moments", "critical_held_out_ratio", "critical_ratio", "critical_weight",
    "derivative_at_zero", "derivative_slope", "estimated_weight", "expected_errors", "fit_whitening",
    "fixed_lam_estimator", "held_out_ece", "held_out_size_matching", "imbalanced_ece", "limit_class_ece",
    "limit_class_sets", "limit_imbalanced_scores", "limit_logistic_scores", "limit_ood_scores", "limit_pairs_scores",
    "limit_pseudo_label_scores", "limit_ridge_scores", "limit_scores", "logistic_coefficients", "mean_estimator",
    "mixed_rows", "mixup_can_help_ood", "mixup_estimator", "mixup_helps_ood", "mixup_logistic_coefficients",
    "mixup_weight", "overshoot_ratio", "population_accuracy", "population_brier", "population_ece",
    "population_errors", "population_mce", "population_nll", "population_signed_gap", "predict_logistic_scores",
    "pseudo_label_estimators", "random_pairs_estimator", "reliability_curve", "ridge_coefficients", "ridge_estimator",
    "sample_class_sets", "sample_data", "sample_linear_scores", "sample_ood_scores", "sample_pairs_scores",
    "sample_pseudo_label_scores", "sample_scores", "sample_training_sets", "scale_on_held_out", "scaled_ece",
    "score_law", "separable_ratio", "sigma_estimator", "symmetric_alpha", "turning_ratio", "weighted_estimator",
    "with_positive_rate",
]  # fmt: skip
