"""Quantities that other implementations got wrong, and the notation that Kubernetes prints."""

import pytest

from apportion.api.quantity import MAX_UNITS, Quantity, is_quantity, parse_quantity
from apportion.base import InputError


@pytest.mark.parametrize(
    ("text", "same_as"),
    [("1.001", "1001m"), ("1.000001", "1000001u"), ("1.441k", "1441"), ("1e3", "1k"), ("0.5Gi", "512Mi")],
)
def test_equal_amounts_in_different_notation_are_equal(text: str, same_as: str) -> None:
    """Source: kubernetes/kubernetes#138165."""
    assert parse_quantity(text) == parse_quantity(same_as)
    assert hash(parse_quantity(text)) == hash(parse_quantity(same_as))


def test_fractions_compare_exactly_although_whole_units_round_up() -> None:
    """Source: kubernetes/kubernetes#13867."""
    assert parse_quantity("100m").value() == 1
    assert parse_quantity("100m") < parse_quantity("1")
    assert parse_quantity("1001u").milli_value() == 2


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("1024Ki", "1Mi"),
        ("1536Mi", "1536Mi"),
        ("1000m", "1"),
        ("0.5", "500m"),
        ("2000", "2k"),
        ("1e6", "1e6"),
        ("100e3", "100e3"),
        ("0", "0"),
        ("-1500m", "-1500m"),
        ("1Ki", "1Ki"),
        ("1.5Gi", "1536Mi"),
        ("0.1n", "1n"),
    ],
)
def test_canonical_text(text: str, printed: str) -> None:
    assert str(parse_quantity(text)) == printed


def test_amounts_are_capped_at_int64() -> None:
    assert parse_quantity("100E").value() == MAX_UNITS


def test_numbers_without_quotes() -> None:
    assert parse_quantity(2) == parse_quantity("2")
    assert parse_quantity(0.25) == parse_quantity("250m")


@pytest.mark.parametrize("text", ["", "1 Gi", "1GiB", "Gi", "1.2.3", "1e", "0x10", "1i", "NaN", "1" * 65])
def test_other_text_is_refused(text: str) -> None:
    assert not is_quantity(text)
    with pytest.raises(InputError, match="is not a quantity"):
        parse_quantity(text)


def test_arithmetic_keeps_the_notation_of_the_first_amount_that_counts() -> None:
    assert str(parse_quantity("1Gi") + parse_quantity("1Gi")) == "2Gi"
    assert str(Quantity(0) + parse_quantity("1Gi")) == "1Gi"
    assert parse_quantity("3") - parse_quantity("500m") == parse_quantity("2500m")
