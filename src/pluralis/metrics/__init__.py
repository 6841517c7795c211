"""What was lost, measured on the published tables."""

from pluralis.metrics.loss import Loss, measure

__all__ = ["Loss", "measure"]
