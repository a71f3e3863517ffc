"""Frequencies and the unknown parameters of devices, estimated together."""
