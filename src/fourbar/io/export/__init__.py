"""Writing formats that cannot express everything. What changes the dynamics is refused, the rest is reported."""
