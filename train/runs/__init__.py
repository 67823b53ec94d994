"""What a run of nets keeps: records, summary, published results."""
