"""The language: tokens, tree, macros and types of an expression."""
