//! Progress to Python, and Python's interrupts back, a few times a second.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

const PAUSE: Duration = Duration::from_millis(50);

/// Calls the user's function now and then while the interpreter is free for others.
pub(crate) struct Watch {
    progress: Option<Py<PyAny>>,
    state: Mutex<State>,
}

struct State {
    last: Instant,
    raised: Option<PyErr>,
}

impl Watch {
    pub(crate) fn new(progress: Option<Py<PyAny>>) -> Self {
        Self { progress, state: Mutex::new(State { last: Instant::now(), raised: None }) }
    }

    /// `false` once the user's function raised, or the user pressed Ctrl-C.
    pub(crate) fn tell(&self, share: f64) -> bool {
        let Ok(mut state) = self.state.lock() else { return false };
        if state.raised.is_some() || state.last.elapsed() < PAUSE {
            return state.raised.is_none();
        }
        state.last = Instant::now();
        state.raised = Python::attach(|py| self.call(py, share.min(1.0))).err();
        state.raised.is_none()
    }

    /// What was raised meanwhile.
    pub(crate) fn raise(&self) -> PyResult<()> {
        let raised = self.state.lock().ok().and_then(|mut state| state.raised.take());
        raised.map_or(Ok(()), Err)
    }

    fn call(&self, py: Python<'_>, share: f64) -> PyResult<()> {
        py.check_signals()?;
        match &self.progress {
            Some(progress) => progress.call1(py, (share,)).map(drop),
            None => Ok(()),
        }
    }
}
