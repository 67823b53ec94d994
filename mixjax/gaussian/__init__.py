"""The Gaussian model of the paper: exact calibration errors, finite-sample laws, and limits.

`score_law` the two numbers that everything depends on; `population` the calibration errors of a law, `maximum` its
largest gap; `samplers` the exact law over training sets; `expectations` the same without sampling; `limits` p/n -> c,
and `capacity` how their derivative changes with c; `ood` test data of another mean; `pseudo_label` Algorithm 1, with
`pseudo_label_limits`; `claims` the theorems as numbers; `weights` from (alpha, beta) to the Mixup weight t; `model` and
`estimators` the literal versions; `whitening` what brings real rows near the model. Beyond the paper: `training_sets`
the exact law before a weight is chosen, and `estimated_weight` one that is chosen by it; `temperature` scaling on
held-out points, and `temperature_limits`; `linear` the law of any linear estimators, and `random_pairs` Mixup with
finitely many pairs; `imbalance` classes of unequal size, and `imbalanced_ece` their calibration; `classes` more than
two, `class_sets` their exact law, and `class_ece` their calibration; `ridge` and `logistic` fits in place of the
average.
"""

from mixjax.gaussian.beyond.class_ece import class_ece as class_ece
from mixjax.gaussian.beyond.class_sets import ClassSets as ClassSets
from mixjax.gaussian.beyond.class_sets import limit_class_sets as limit_class_sets
from mixjax.gaussian.beyond.class_sets import sample_class_sets as sample_class_sets
from mixjax.gaussian.beyond.classes import best_class_weight as best_class_weight
from mixjax.gaussian.beyond.classes import class_estimator as class_estimator
from mixjax.gaussian.beyond.classes import class_means as class_means
from mixjax.gaussian.beyond.classes import limit_class_ece as limit_class_ece
from mixjax.gaussian.beyond.estimated_weight import estimated_weight as estimated_weight
from mixjax.gaussian.beyond.imbalance import limit_imbalanced_scores as limit_imbalanced_scores
from mixjax.gaussian.beyond.imbalance import with_positive_rate as with_positive_rate
from mixjax.gaussian.beyond.imbalanced_ece import imbalanced_ece as imbalanced_ece
from mixjax.gaussian.beyond.linear import sample_linear_scores as sample_linear_scores
from mixjax.gaussian.beyond.logistic import logistic_coefficients as logistic_coefficients
from mixjax.gaussian.beyond.random_pairs import limit_pairs_scores as limit_pairs_scores
from mixjax.gaussian.beyond.random_pairs import sample_pairs_scores as sample_pairs_scores
from mixjax.gaussian.beyond.ridge import limit_ridge_scores as limit_ridge_scores
from mixjax.gaussian.beyond.ridge import ridge_coefficients as ridge_coefficients
from mixjax.gaussian.beyond.ridge import ridge_estimator as ridge_estimator
from mixjax.gaussian.beyond.temperature import TemperatureFit as TemperatureFit
from mixjax.gaussian.beyond.temperature import scale_on_held_out as scale_on_held_out
from mixjax.gaussian.beyond.temperature import scaled_ece as scaled_ece
from mixjax.gaussian.beyond.temperature_limits import critical_held_out_ratio as critical_held_out_ratio
from mixjax.gaussian.beyond.temperature_limits import held_out_ece as held_out_ece
from mixjax.gaussian.beyond.temperature_limits import held_out_size_matching as held_out_size_matching
from mixjax.gaussian.beyond.whitening import Whitening as Whitening
from mixjax.gaussian.beyond.whitening import fit_whitening as fit_whitening
from mixjax.gaussian.capacity import derivative_slope as derivative_slope
from mixjax.gaussian.capacity import turning_ratio as turning_ratio
from mixjax.gaussian.estimators import fixed_lam_estimator as fixed_lam_estimator
from mixjax.gaussian.estimators import mean_estimator as mean_estimator
from mixjax.gaussian.estimators import mixed_rows as mixed_rows
from mixjax.gaussian.estimators import mixup_estimator as mixup_estimator
from mixjax.gaussian.estimators import pseudo_label_estimators as pseudo_label_estimators
from mixjax.gaussian.estimators import random_pairs_estimator as random_pairs_estimator
from mixjax.gaussian.estimators import sigma_estimator as sigma_estimator
from mixjax.gaussian.estimators import weighted_estimator as weighted_estimator
from mixjax.gaussian.expectations import expected_errors as expected_errors
from mixjax.gaussian.law import ScoreLaw as ScoreLaw
from mixjax.gaussian.law import score_law as score_law
from mixjax.gaussian.limits import best_weight as best_weight
from mixjax.gaussian.limits import critical_ratio as critical_ratio
from mixjax.gaussian.limits import critical_weight as critical_weight
from mixjax.gaussian.limits import derivative_at_zero as derivative_at_zero
from mixjax.gaussian.limits import limit_scores as limit_scores
from mixjax.gaussian.maximum import population_mce as population_mce
from mixjax.gaussian.model import direction as direction
from mixjax.gaussian.model import sample_data as sample_data
from mixjax.gaussian.ood import best_ood_weight as best_ood_weight
from mixjax.gaussian.ood import limit_ood_scores as limit_ood_scores
from mixjax.gaussian.ood import mixup_can_help_ood as mixup_can_help_ood
from mixjax.gaussian.ood import sample_ood_scores as sample_ood_scores
from mixjax.gaussian.ood import sufficient_ood as sufficient_ood
from mixjax.gaussian.population import CalibrationErrors as CalibrationErrors
from mixjax.gaussian.population import population_accuracy as population_accuracy
from mixjax.gaussian.population import population_brier as population_brier
from mixjax.gaussian.population import population_ece as population_ece
from mixjax.gaussian.population import population_errors as population_errors
from mixjax.gaussian.population import population_nll as population_nll
from mixjax.gaussian.population import population_signed_gap as population_signed_gap
from mixjax.gaussian.population import reliability_curve as reliability_curve
from mixjax.gaussian.pseudo_label import sample_pseudo_label_scores as sample_pseudo_label_scores
from mixjax.gaussian.pseudo_label_limits import limit_pseudo_label_scores as limit_pseudo_label_scores
from mixjax.gaussian.pseudo_label_limits import overshoot_ratio as overshoot_ratio
from mixjax.gaussian.samplers import sample_scores as sample_scores
from mixjax.gaussian.training_sets import TrainingSets as TrainingSets
from mixjax.gaussian.training_sets import sample_training_sets as sample_training_sets
from mixjax.gaussian.weights import mixup_weight as mixup_weight
from mixjax.gaussian.weights import symmetric_alpha as symmetric_alpha
