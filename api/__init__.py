"""The outside: HTTP, command line. It never decides a rule."""
