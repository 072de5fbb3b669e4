//! The choices of the caller, checked.

use std::fmt::Display;
use std::ops::RangeInclusive;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tailrace_replay::{CollectiveOrder, CriticalPaths, Options};

/// What was given, and the engine's defaults for the rest.
pub(crate) fn checked(
    eager_limit_bytes: Option<i64>,
    collectives: Option<&str>,
    critical_paths: Option<bool>,
    bins: Option<i64>,
    longest: Option<i64>,
    threads: Option<i64>,
) -> PyResult<Options> {
    let defaults = Options::default();
    let within = |name, value: Option<i64>, range, default| match value {
        Some(value) => Ok(in_range(name, value, range)? as usize),
        None => Ok::<usize, PyErr>(default),
    };
    Ok(Options {
        eager_limit_bytes: match eager_limit_bytes {
            Some(bytes) => in_range("eager_limit_bytes", bytes, 0..=i64::MAX)? as u64,
            None => defaults.eager_limit_bytes,
        },
        collectives: collectives.map_or(Ok(defaults.collectives), order)?,
        critical_paths: match critical_paths {
            Some(false) => CriticalPaths::LeftOut,
            Some(true) => CriticalPaths::Followed,
            None => defaults.critical_paths,
        },
        bins: within("bins", bins, Options::BINS, defaults.bins)?,
        longest: within("longest", longest, Options::LONGEST, defaults.longest)?,
        threads: within("threads", threads, Options::THREADS, defaults.threads)?,
        ..defaults
    })
}

fn in_range<T: PartialOrd + Display>(
    name: &str,
    value: T,
    range: RangeInclusive<T>,
) -> PyResult<T> {
    if range.contains(&value) {
        return Ok(value);
    }
    let (low, high) = range.into_inner();
    Err(PyValueError::new_err(format!("{name} must be {low} to {high}, not {value}")))
}

fn order(collectives: &str) -> PyResult<CollectiveOrder> {
    match collectives {
        "data" => Ok(CollectiveOrder::Data),
        "all" => Ok(CollectiveOrder::All),
        _ => Err(PyValueError::new_err(format!(
            "collectives must be \"data\" or \"all\", not {collectives:?}"
        ))),
    }
}
