"""The command `mixjax predict FILE --n N`: what Mixup, label smoothing and a penalty will do to a last layer.

    features.py    file -> features and labels             settings.py     options -> arms and penalties
    table.py       moments -> predicted numbers            cautions.py     where the rows differ from the model
    measuring.py   fits on random subsets, beside them     answer.py       numbers -> sentences
    terminal.py, figures.py, page.py, csv_table.py         the same as tables, pictures, one HTML page, a csv file
    command.py     options, from a file to a folder

Nothing is fitted but with `--check`: means, covariance and the number of rows are all that the prediction of
`mixjax.gaussian.predict_logistic_scores` knows of the features. Modules that display numbers compute none.
"""
