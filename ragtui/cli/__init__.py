"""The headless commands: parse, call, print, exit code. No logic."""
