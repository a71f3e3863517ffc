"""Products with the likelihood rows of reports as expressions of PyTensor."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ldpstats.problems.rows.base import DenseRows, Rows, UniformRows, dense_if_small

__all__ = ["mixed", "mixed_by_row"]


def mixed(rows: Rows, p: Any) -> Any:
    """W p, shape (u,), for a tensor p, shape (k,).

    Channels a I + 1 b' take O(k) operations of PyTensor itself, small matrices one product. The
    other forms keep their structure: an Op calls their products, and its gradient the transposed
    ones, so that it can be differentiated as often as wanted.
    """
    from pytensor import tensor as pt

    if isinstance(rows, UniformRows):
        return rows.a * p[rows.codes] + rows.background * p.sum()
    form = dense_if_small(rows.prepared())
    if isinstance(form, DenseRows):
        return pt.dot(np.ascontiguousarray(form.W), p)
    return _products()(form, False)(p)


def mixed_by_row(rows: Rows, p: Any) -> Any:
    """``sum_x W[i, x] p[i, x]``, shape (n,), for a tensor p, shape (n, k), a row a report."""
    if isinstance(rows, UniformRows):
        own = p[np.arange(rows.codes.size), rows.codes]
        return rows.a * own + rows.background * p.sum(axis=-1)
    return (rows.dense() * p).sum(axis=-1)


@cache
def _products() -> Any:
    """The Op of W p and W' v; its class needs PyTensor, and is made when that is imported."""
    from pytensor import tensor as pt
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op

    class Product(Op):  # type: ignore[misc]
        """W p or, transposed, W' v. Two are equal if they have the same rows."""

        def __init__(self, rows: Rows, transposed: bool) -> None:
            self.rows, self.transposed = rows, transposed

        def __eq__(self, other: object) -> bool:
            if not isinstance(other, Product):
                return False
            return self.rows is other.rows and self.transposed == other.transposed

        def __hash__(self) -> int:
            return hash((Product, id(self.rows), self.transposed))

        def make_node(self, vector: Any) -> Any:
            operand = pt.cast(pt.as_tensor_variable(vector), "float64")
            length = self.rows.shape[1 if self.transposed else 0]
            return Apply(self, [operand], [pt.tensor(dtype="float64", shape=(length,))])

        def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
            product = self.rows.adjoint if self.transposed else self.rows.mix
            outputs[0][0] = np.asarray(product(inputs[0]), dtype=np.float64)

        def grad(self, inputs: Any, gradients: Any) -> Any:
            return [Product(self.rows, not self.transposed)(gradients[0])]

        def infer_shape(self, graph: Any, node: Any, shapes: Any) -> Any:
            return [(pt.constant(self.rows.shape[1 if self.transposed else 0]),)]

    return Product
