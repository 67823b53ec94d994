"""`mixjax report FILE`: from a file of predictions to its calibration errors, with intervals, on one page.

    columns.py     npz, csv, parquet -> named columns      reading.py      columns -> checked predictions
    metrics.py     predictions -> numbers                  comparison.py   two models on the same rows, paired
    diagram.py     numbers -> Axes                         figures.py      Axes -> figures
    terminal.py    numbers -> a table in the terminal      page.py         numbers and figures -> one HTML page

Nothing is computed where something is shown. matplotlib, rich and pyarrow are imported inside, on demand.
"""
