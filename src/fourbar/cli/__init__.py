"""The command line. One file per command: `configure(parser)` declares its arguments, `run(args)` returns the exit
code.

Exit codes: 0 success; 1 the request could not be carried out; 2 wrong command line; 130 interrupted.
"""
