"""Calibration errors of predictions with intervals, on one page: `of_arrays`, and the command `mixjax report FILE`.

    columns.py     npz, csv, parquet -> named columns      reading.py      columns -> checked predictions
    arrays.py      arrays -> checked predictions           checks.py       what holds of every array of a file
    groups.py      a column of names -> groups of rows
    metrics.py     predictions -> numbers                  comparison.py   two models on the same rows, paired
    figures.py     numbers -> figures                      terminal.py     numbers -> a table in the terminal
    page.py        numbers and figures -> one HTML page    html.py         pages that need nothing but themselves
    whole.py       all of them together

Modules that display numbers compute none. matplotlib, rich and pyarrow are imported on demand.
"""

from mixjax.report.arrays import of_arrays
from mixjax.report.whole import CalibrationReport

__all__ = ["CalibrationReport", "of_arrays"]
