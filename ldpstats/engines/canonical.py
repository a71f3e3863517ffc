"""One form of results, whatever engine they come from: types of columns and the order of rows."""

from __future__ import annotations

from typing import Any

from ldpstats.errors import InvalidArgument

__all__ = ["plain", "sorted_cells"]


def plain(table: Any) -> Any:
    """A table of Arrow with one type for each kind of value.

    Whole numbers become int64 (columns with larger ones stay as they are), others double; text
    string, bytes binary, dictionaries their values, moments timestamps in microseconds.
    """
    import pyarrow

    arrays = [_plain(table.column(i)) for i in range(table.num_columns)]
    return pyarrow.Table.from_arrays(arrays, names=table.column_names)


def _plain(column: Any) -> Any:
    import pyarrow
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        return _plain(column.cast(kind.value_type))
    if types.is_unsigned_integer(kind) and kind.bit_width == 64 and len(column):
        if (pc.max(column).as_py() or 0) >= 1 << 63:
            return column
    target = None
    if types.is_decimal(kind) and kind.scale == 0:
        try:
            return column.cast(pyarrow.int64())
        except pyarrow.ArrowInvalid:  # too large for it
            return column
    if types.is_integer(kind):
        target = pyarrow.int64()
    elif types.is_floating(kind):
        # one zero: engines differ in whether they tell -0.0 from 0.0
        return pc.add(column.cast(pyarrow.float64()), 0.0)
    elif types.is_large_string(kind) or kind == pyarrow.string_view():
        target = pyarrow.string()
    elif types.is_fixed_size_binary(kind) or types.is_large_binary(kind):
        target = pyarrow.binary()
    elif kind == pyarrow.binary_view():
        target = pyarrow.binary()
    elif types.is_timestamp(kind) and kind.unit != "us":
        return column.cast(pyarrow.timestamp("us", kind.tz), safe=False)
    return column if target is None or kind == target else column.cast(target)


def sorted_cells(table: Any) -> Any:
    """Distinct rows of `table`, its last column their number, in the order of the columns.

    Missing values come last, NaN before them. Values that engines tell apart, but one type of Arrow
    does not (0.0 and -0.0, moments a nanosecond apart), are added up.
    """
    import pyarrow
    from pyarrow import types

    names = [f"c{i}" for i in range(table.num_columns - 1)]  # whatever the columns are called
    cells = table.rename_columns([*names, "n"])
    cells = cells.set_column(len(names), "n", cells.column("n").cast(pyarrow.int64()))
    if any(types.is_floating(t) or types.is_timestamp(t) for t in cells.schema.types):
        cells = cells.group_by(names).aggregate([("n", "sum")]).select([*names, "n_sum"])
    order = []
    for i, name in enumerate(names):
        _check_sortable(table.column_names[i], cells.schema.field(name).type)
        if not types.is_null(cells.schema.field(name).type):
            order.append((name, "ascending"))
    if order:
        cells = cells.sort_by(order)
    return cells.rename_columns([*table.column_names[:-1], "n"])


def _check_sortable(name: str, kind: Any) -> None:
    from pyarrow import types

    if types.is_nested(kind) or types.is_interval(kind):
        raise InvalidArgument("column", name, f"is of the type {kind}, which has no order: cast it")
