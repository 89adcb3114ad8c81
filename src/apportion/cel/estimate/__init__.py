"""The worst-case cost of an expression."""
