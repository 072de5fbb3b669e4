//! Columns of numbers.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub(crate) type Dict<'py> = PyResult<Bound<'py, PyDict>>;

/// One array of 64-bit integers.
pub(crate) fn integers<T>(
    columns: &Bound<'_, PyDict>,
    name: &str,
    rows: impl IntoIterator<Item = T>,
    value: impl Fn(T) -> i64,
) -> PyResult<()> {
    let values: Vec<i64> = rows.into_iter().map(value).collect();
    columns.set_item(name, PyArray1::from_vec(columns.py(), values))
}
