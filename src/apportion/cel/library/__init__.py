"""The functions that an expression may call, and the environment they make up."""
