//! What a call means, told from its name.

use crate::event::{FileKind, Layer, SendMode};

/// How ranks wait for each other in a collective, before its root is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    All,
    FromRoot,
    ToRoot,
    Prefix,
    Neighbours,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A call that takes part in messages, if the message records say so; else it orders nothing.
    Messages {
        mode: SendMode,
        exchange: bool,
    },
    Collective {
        order: Order,
        started: bool,
    },
    Initialize,
    File {
        kind: FileKind,
        layer: Layer,
        collective: bool,
    },
}

/// Of an MPI procedure. Names are those of the standard; capitals do not matter.
pub(super) fn mpi(name: &str) -> Kind {
    let name = name.to_ascii_lowercase();
    let Some(stem) = name.strip_prefix("mpi_") else { return message("") };
    if let Some(call) = stem.strip_prefix("file_") {
        return mpi_file(call);
    }
    match stem {
        "init" | "init_thread" => Kind::Initialize,
        _ => collective(stem).unwrap_or_else(|| message(stem)),
    }
}

fn collective(stem: &str) -> Option<Kind> {
    let started = stem.strip_prefix('i').and_then(order);
    let order = order(stem).or(started)?;
    Some(Kind::Collective { order, started: started.is_some() })
}

fn order(stem: &str) -> Option<Order> {
    match stem {
        "barrier"
        | "allreduce"
        | "allgather"
        | "allgatherv"
        | "alltoall"
        | "alltoallv"
        | "alltoallw"
        | "reduce_scatter"
        | "reduce_scatter_block" => Some(Order::All),
        "bcast" | "scatter" | "scatterv" => Some(Order::FromRoot),
        "reduce" | "gather" | "gatherv" => Some(Order::ToRoot),
        "scan" | "exscan" => Some(Order::Prefix),
        _ if stem.starts_with("neighbor_") => Some(Order::Neighbours),
        _ => None,
    }
}

/// A send that returns before its data are taken imposes no order on its sender: it is as good as
/// buffered. (A `.prv` does not say which Wait completes it.)
fn message(stem: &str) -> Kind {
    let mode = match stem {
        "ssend" => SendMode::Synchronous,
        "rsend" => SendMode::Ready,
        "send" | "sendrecv" | "sendrecv_replace" => SendMode::Standard,
        _ => SendMode::Buffered,
    };
    Kind::Messages { mode, exchange: stem.starts_with("sendrecv") }
}

/// Of what follows `MPI_File_`. The first half of a split call orders nothing: its second half
/// does.
fn mpi_file(call: &str) -> Kind {
    let moves_together =
        call.ends_with("_all") || call.ends_with("_all_end") || call.contains("_ordered");
    let together =
        matches!(call, "open" | "close" | "set_size" | "set_view" | "preallocate" | "sync");
    let collective = (moves_together || together) && !call.ends_with("_begin");
    Kind::File { kind: mpi_file_kind(call), layer: Layer::MpiIo, collective }
}

fn mpi_file_kind(call: &str) -> FileKind {
    match call {
        "open" => FileKind::Open,
        "close" => FileKind::Close,
        "sync" => FileKind::Sync,
        "set_view" => FileKind::View,
        "set_size" | "preallocate" => FileKind::Truncate,
        "delete" => FileKind::Unlink,
        _ if call.contains("read") => FileKind::Read,
        _ if call.contains("write") => FileKind::Write,
        _ if call.starts_with("seek") => FileKind::Seek,
        _ => FileKind::Metadata,
    }
}

/// Of a value of the type that marks POSIX and STDIO calls. Extrae's labels say more than the name:
/// `open()`, `fread`.
pub(super) fn posix(name: &str) -> Kind {
    let name = name.to_ascii_lowercase();
    let word = name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let (layer, stem) = match word.strip_prefix('f') {
        Some(stem @ ("open" | "close" | "read" | "write")) => (Layer::Stdio, stem),
        _ => (Layer::Posix, word),
    };
    let kind = match stem {
        "read" | "pread" | "readv" | "preadv" => FileKind::Read,
        "write" | "pwrite" | "writev" | "pwritev" => FileKind::Write,
        "open" => FileKind::Open,
        "close" => FileKind::Close,
        _ => FileKind::Metadata,
    };
    Kind::File { kind, layer, collective: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_are_told_by_where_data_flow() {
        let blocking = |order| Kind::Collective { order, started: false };
        assert_eq!(mpi("MPI_Allreduce"), blocking(Order::All));
        assert_eq!(mpi("MPI_Bcast"), blocking(Order::FromRoot));
        assert_eq!(mpi("MPI_Gatherv"), blocking(Order::ToRoot));
        assert_eq!(mpi("MPI_Exscan"), blocking(Order::Prefix));
        assert_eq!(mpi("MPI_Ibcast"), Kind::Collective { order: Order::FromRoot, started: true });
        assert_eq!(
            mpi("MPI_Ineighbor_alltoallw"),
            Kind::Collective { order: Order::Neighbours, started: true }
        );
    }

    #[test]
    fn only_standard_sends_may_wait_for_their_receive() {
        let mode = |name| match mpi(name) {
            Kind::Messages { mode, exchange } => (mode, exchange),
            other => panic!("{other:?}"),
        };
        assert_eq!(mode("MPI_Send"), (SendMode::Standard, false));
        assert_eq!(mode("MPI_Sendrecv"), (SendMode::Standard, true));
        assert_eq!(mode("MPI_Ssend"), (SendMode::Synchronous, false));
        assert_eq!(mode("MPI_Isend"), (SendMode::Buffered, false));
        assert_eq!(mode("MPI_Irecv"), (SendMode::Buffered, false));
    }

    #[test]
    fn file_calls_have_their_layer_and_company() {
        let file = |kind, layer, collective| Kind::File { kind, layer, collective };
        assert_eq!(mpi("MPI_File_write_at_all"), file(FileKind::Write, Layer::MpiIo, true));
        assert_eq!(mpi("MPI_File_write_at"), file(FileKind::Write, Layer::MpiIo, false));
        assert_eq!(mpi("MPI_File_read_all_begin"), file(FileKind::Read, Layer::MpiIo, false));
        assert_eq!(mpi("MPI_File_read_ordered_end"), file(FileKind::Read, Layer::MpiIo, true));
        assert_eq!(mpi("MPI_File_open"), file(FileKind::Open, Layer::MpiIo, true));
        assert_eq!(posix("fwrite()"), file(FileKind::Write, Layer::Stdio, false));
        assert_eq!(posix("pwritev"), file(FileKind::Write, Layer::Posix, false));
        assert_eq!(posix("ioctl"), file(FileKind::Metadata, Layer::Posix, false));
    }
}
