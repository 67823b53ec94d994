"""The command `mixjax report FILE`: calibration errors of a file of predictions, with intervals, on one page.

    columns.py     npz, csv, parquet -> named columns      reading.py      columns -> checked predictions
    metrics.py     predictions -> numbers                  comparison.py   two models on the same rows, paired
    diagram.py     numbers -> Axes                         figures.py      Axes -> figures
    terminal.py    numbers -> a table in the terminal      page.py         numbers and figures -> one HTML page
    checks.py      what holds of every array of a file     html.py         pages that need nothing but themselves

Modules that display numbers compute none. matplotlib, rich and pyarrow are imported on demand.
"""
