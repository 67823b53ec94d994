"""The figures of the studies, from their stored tables alone.

`maps` of p/n and |theta|; `slices` along p/n or n; `capacity` the
derivatives; `estimator_bias` estimators against the truth; `beyond` random pairs and unequal classes; `fits` a ridge
and a logistic fit; `generative` learned inverses; `captions` the words that they share, and what is drawn of a table
that is too large to draw.
"""

from .beyond import beyond_figures as beyond_figures
from .beyond import beyond_report as beyond_report
from .capacity import capacity_figures as capacity_figures
from .estimator_bias import estimator_bias_figures as estimator_bias_figures
from .estimator_bias import estimator_bias_report as estimator_bias_report
from .fits import fits_figures as fits_figures
from .fits import fits_report as fits_report
from .generative import generative_figures as generative_figures
from .generative import generative_report as generative_report
from .maps import phase_diagram_figures as phase_diagram_figures
from .out_of_domain import out_of_domain_figures as out_of_domain_figures
from .pseudo_label import pseudo_label_figures as pseudo_label_figures
from .pseudo_label import pseudo_label_shift_figures as pseudo_label_shift_figures
from .slices import slice_figures as slice_figures
from .temperature import temperature_figures as temperature_figures
