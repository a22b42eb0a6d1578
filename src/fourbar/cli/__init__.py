"""The command line. One file a command: `configure(parser)` declares its arguments, `run(args)` returns the exit code.

Exit codes: 0 done; 1 something that was asked for could not be done; 2 the command line was wrong; 130 interrupted.
"""
