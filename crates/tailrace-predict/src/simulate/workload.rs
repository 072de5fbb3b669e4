//! What is simulated: a solver on tiles of a grid, the files that it writes and reads, and how.

/// How data reach the files (kernels/gridio/method_*.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Rank 0 gathers one variable at a time.
    Serial,
    /// Each rank its own blocks in one file.
    Independent,
    /// Each rank a file of its own.
    FilePerRank,
    /// All together: ROMIO's aggregators write what they get from the others.
    Collective,
    /// Some ranks write for those behind them.
    Aggregated,
}

/// How many write in the aggregated method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// Over all nodes.
    All(u32),
    OfNode(u32),
}

/// Which calls move the bytes (kernels/gridio/format_*.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Posix,
    /// Through MPI-IO, whose calls are those of ROMIO.
    MpiIo,
}

#[derive(Clone, Debug)]
pub struct Workload {
    pub ranks: u32,
    pub ranks_per_node: u32,
    /// Cells along z, y, x.
    pub grid: [i64; 3],
    /// Ranks along y and x; none: as MPI chooses.
    pub tiles: Option<[u32; 2]>,
    pub steps: u64,
    /// What the rank with the most cells computes in a step.
    pub step_ns: f64,
    /// Fields whose edges neighbours exchange in every step, of 8 bytes a cell.
    pub halo_fields: i64,
    pub method: Method,
    pub format: Format,
    /// What is not tiled is written by all ranks that have the file open, not by rank 0 alone.
    pub wholes_by_all: bool,
    pub writers: Writers,
    /// Of a writer.
    pub buffer_bytes: i64,
    /// ROMIO's hints cb_nodes and cb_buffer_size.
    pub aggregators: Option<u32>,
    pub collective_buffer_bytes: i64,
    pub streams: Vec<Stream>,
}

/// A file, or a row of files.
#[derive(Clone, Debug)]
pub struct Stream {
    pub name: String,
    pub is_output: bool,
    /// Model steps between two of its steps.
    pub every: u64,
    /// The state before the first model step is written too.
    pub initial: bool,
    /// 0: all in one file.
    pub steps_per_file: u64,
    /// Each step is brought to the disk.
    pub sync: bool,
    pub variables: Vec<Variable>,
}

#[derive(Clone, Debug)]
pub struct Variable {
    pub name: String,
    pub units: String,
    /// As headers have it: float64, float32, int32 or character.
    pub kind: String,
    pub element_bytes: i64,
    pub every_step: bool,
    /// The last two dimensions are shared out over the ranks.
    pub tiled: bool,
    pub dimensions: Vec<Dimension>,
}

#[derive(Clone, Debug)]
pub struct Dimension {
    pub name: String,
    pub size: i64,
    /// One longer than the grid: the last rank along it has that one, too.
    pub staggered: bool,
}

impl Variable {
    pub(super) fn bytes(&self) -> i64 {
        self.element_bytes * self.dimensions.iter().map(|dimension| dimension.size).product::<i64>()
    }

    /// Along y and x.
    pub(super) fn sides(&self) -> [i64; 2] {
        let last = self.dimensions.len() - 2;
        [0, 1].map(|axis| self.dimensions[last + axis].size)
    }

    /// The dimensions that all ranks have whole, as one.
    pub(super) fn outer(&self) -> i64 {
        let whole = &self.dimensions[..self.dimensions.len() - 2];
        whole.iter().map(|dimension| dimension.size).product()
    }
}

impl Stream {
    /// Steps that a run of so many model steps writes or reads.
    pub(super) fn steps(&self, model_steps: u64) -> u64 {
        if self.is_output {
            model_steps / self.every + u64::from(self.initial)
        } else {
            model_steps.saturating_sub(1) / self.every + u64::from(model_steps > 0)
        }
    }

    pub(super) fn step_in_file(&self, step: u64) -> u64 {
        if self.steps_per_file > 0 { step % self.steps_per_file } else { step }
    }

    pub(super) fn ends_file(&self, step: u64, steps: u64) -> bool {
        step + 1 == steps
            || self.steps_per_file > 0 && (step + 1).is_multiple_of(self.steps_per_file)
    }
}
