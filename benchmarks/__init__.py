"""mixjax beside other libraries: `python -m benchmarks NAME`. Ratios of speed, measured in one run; in `agreement`, the
nets that both train. No timing is part of the tests.
"""
