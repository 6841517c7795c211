"""The command line: parse, call one library function, show. Heavy imports happen inside the commands."""
