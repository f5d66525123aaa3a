"""A run summed up."""
