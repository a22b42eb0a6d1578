"""Bridges to other libraries: their robots as ours, their states as ours. Each needs the other library installed."""
