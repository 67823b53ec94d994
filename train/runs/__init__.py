"""The files of a run of nets: records, summary, published results."""
