//! The events at hand, and what became of their shapes.

use tailrace_trace::event::{Event, Operation, Part};
use tailrace_trace::{Batch, Tables};

use crate::graph::Channel;
use crate::reduce::channels::Channels;
use crate::reduce::thread::Next;
use crate::steps::{self, Line, Step, Sum};

/// An event, and all that its shape is.
pub(crate) struct Call<'a> {
    pub event: Event,
    pub step: &'a Step,
    pub part: Part,
    pub operation: &'a Operation,
    /// What is summed up of the shape.
    pub sum: &'a mut Sum,
}

/// A batch and what became of its shapes.
#[derive(Default)]
pub(crate) struct Load {
    pub batch: Batch,
    pub lines: Vec<Line>,
}

impl Load {
    /// The event with all that its shape is.
    #[inline]
    pub(crate) fn call(&mut self, next: &Next) -> Call<'_> {
        let event = next.event;
        let shape = &self.batch.shapes[event.shape as usize];
        let Line { step, sum } = &mut self.lines[event.shape as usize];
        Call { event, step, part: shape.part, operation: &shape.operation, sum }
    }

    /// Makes one line per shape of the batch. Channels that are new to the rank are added to
    /// `fresh`.
    pub(crate) fn compile(
        &mut self,
        tables: &Tables,
        rank: u32,
        channels: &mut Channels,
        fresh: &mut Vec<Channel>,
    ) {
        self.lines.clear();
        let shapes = self.batch.shapes.iter();
        self.lines.extend(shapes.map(|shape| {
            steps::line(tables, shape, rank, |channel| channels.number(channel, fresh))
        }));
    }
}
