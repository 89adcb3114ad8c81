"""A score as a broken line over utilization, as configurations describe it."""

from collections.abc import Mapping

from apportion.base import ConfigError


def read_shape(shape: object, path: str) -> tuple[int, ...]:
    """Return the score from 0 to 100 for each per cent of utilization, 101 of them.

    ``shape`` is a list of points {utilization 0..100, score 0..10}. Raises ConfigError naming the field below ``path``.
    """
    if not isinstance(shape, list) or not shape:
        raise ConfigError(f"{path}: needs at least one point")
    points: list[tuple[int, int]] = []
    for i, point in enumerate(shape):
        where = f"{path}[{i}]"
        if not isinstance(point, Mapping):
            raise ConfigError(f"{where}: needs utilization and score")
        utilization, score = point.get("utilization", 0), point.get("score", 0)
        if not isinstance(utilization, int) or not 0 <= utilization <= 100:
            raise ConfigError(f"{where}.utilization: must be a whole number from 0 to 100")
        if not isinstance(score, int) or not 0 <= score <= 10:
            raise ConfigError(f"{where}.score: must be a whole number from 0 to 10")
        if points and utilization <= points[-1][0]:
            raise ConfigError(f"{where}.utilization: must be greater than the one before")
        points.append((utilization, score * 10))
    return tuple(_broken_linear(points, p) for p in range(101))


def _broken_linear(points: list[tuple[int, int]], percent: int) -> int:
    """Interpolate between the points, truncating towards zero as Go does."""
    before = points[0]
    for point in points:
        if percent <= point[0]:
            if point is points[0]:
                return point[1]
            rise = (point[1] - before[1]) * (percent - before[0])
            run = point[0] - before[0]
            return before[1] + (rise // run if rise >= 0 else -(-rise // run))
        before = point
    return points[-1][1]
