//! How many ranks are in a file call: k(t), its integral, and the phases of I/O that it marks.

/// A maximal stretch in which some rank is in a file call; gaps shorter than 1 % of the run are
/// bridged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoPhase {
    pub begin: i64,
    pub end: i64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// ∫k dt over the phase: time that ranks spent in file calls, summed.
    pub io: i64,
    /// Time with k > 0.
    pub busy: i64,
    pub ranks_in_io_max: u32,
}

impl IoPhase {
    /// Mean of k(t) over the phase.
    pub fn ranks_in_io_mean(&self) -> f64 {
        self.io as f64 / (self.end - self.begin).max(1) as f64
    }
}

/// k(t) and K(t) = ∫k dt, fed in order of time. All times are nanoseconds since the window's begin.
#[derive(Debug)]
pub(crate) struct Busy {
    ranks: u32,
    area: i64,
    last: i64,
    /// Since when k > 0, where it is.
    since: i64,
    /// Gaps at least this long end a phase.
    gap: i64,
    phases: Vec<IoPhase>,
}

impl Busy {
    /// For a window of `runtime` nanoseconds.
    pub(crate) fn new(runtime: i64) -> Self {
        Self {
            ranks: 0,
            area: 0,
            last: 0,
            since: 0,
            gap: (runtime / 100).max(1),
            phases: Vec::new(),
        }
    }

    /// K(t); `now` is no earlier than the last step.
    #[inline]
    pub(crate) fn area(&self, now: i64) -> i64 {
        self.area + i64::from(self.ranks) * (now - self.last)
    }

    /// A rank enters a file call; K(now).
    #[inline]
    pub(crate) fn enter(&mut self, now: i64) -> i64 {
        self.step(now);
        self.ranks += 1;
        if self.ranks == 1 {
            self.open(now);
        }
        let phase = self.phases.last_mut().expect("a phase is open while a rank is in a file call");
        phase.ranks_in_io_max = phase.ranks_in_io_max.max(self.ranks);
        self.area
    }

    /// A rank leaves its file call; K(now).
    #[inline]
    pub(crate) fn leave(&mut self, now: i64) -> i64 {
        self.step(now);
        self.ranks -= 1;
        if self.ranks == 0 {
            let phase =
                self.phases.last_mut().expect("a phase is open while a rank is in a file call");
            phase.end = now;
            phase.io += self.area;
            phase.busy += now - self.since;
        }
        self.area
    }

    /// A file call that just ended moved so many bytes.
    pub(crate) fn moved(&mut self, read: u64, written: u64) {
        if let Some(phase) = self.phases.last_mut() {
            phase.bytes_read += read;
            phase.bytes_written += written;
        }
    }

    pub(crate) fn phases(&self) -> &[IoPhase] {
        &self.phases
    }

    #[inline]
    fn step(&mut self, now: i64) {
        self.area = self.area(now);
        self.last = now;
    }

    /// `io` holds −K(begin) until [`Busy::leave`] adds K(end).
    fn open(&mut self, now: i64) {
        self.since = now;
        match self.phases.last_mut() {
            Some(phase) if now - phase.end < self.gap => phase.io -= self.area,
            _ => self.phases.push(IoPhase {
                begin: now,
                end: now,
                io: -self.area,
                ..IoPhase::default()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn area_and_phases_follow_the_ranks_in_io() {
        let mut busy = Busy::new(1000); // gaps of 10 ns and more end a phase
        assert_eq!(busy.enter(100), 0);
        assert_eq!(busy.enter(110), 10);
        assert_eq!(busy.area(115), 20); // 10 · 1 + 5 · 2
        busy.leave(120); // 10 + 20
        busy.moved(7, 0);
        assert_eq!(busy.leave(130), 40);
        busy.enter(139); // a gap of 9: the same phase
        assert_eq!(busy.leave(140), 41);
        busy.enter(150); // a gap of 10: another
        assert_eq!(busy.leave(160), 51);
        let first = IoPhase {
            begin: 100,
            end: 140,
            bytes_read: 7,
            bytes_written: 0,
            io: 41,
            busy: 31,
            ranks_in_io_max: 2,
        };
        let second = IoPhase {
            begin: 150,
            end: 160,
            io: 10,
            busy: 10,
            ranks_in_io_max: 1,
            ..IoPhase::default()
        };
        assert_eq!(busy.phases(), [first, second]);
    }
}
