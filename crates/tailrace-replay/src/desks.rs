//! Where a thread of several writes what another reads then.
//!
//! A line of the cache that another core has read is slow to write: it has to be given up there
//! first, which each vertex would wait for that is written into a buffer that comes back from the
//! graph. At a desk only one thread writes and reads; what was written is copied in one go, which
//! waits for many lines at a time.

use std::sync::{Mutex, PoisonError};

use crate::graph::vertex::Vertex;

/// One for each thread of the pool.
pub(crate) struct Desks(Vec<Mutex<Vec<Vertex>>>);

impl Desks {
    pub(crate) fn new(threads: usize) -> Self {
        Self((0..threads).map(|_| Mutex::default()).collect())
    }

    /// Has `work` write the vertices of a rank at the desk of this thread, if it has one. A buffer
    /// that has no room yet was read by nobody.
    pub(crate) fn lend<R, T>(
        &self,
        rank: &mut R,
        vertices: impl Fn(&mut R) -> &mut Vec<Vertex>,
        work: impl FnOnce(&mut R) -> T,
    ) -> T {
        let is_new = vertices(rank).capacity() == 0;
        let desk = rayon::current_thread_index().and_then(|thread| self.0.get(thread));
        let Some(desk) = desk.filter(|_| !is_new) else { return work(rank) };
        let mut desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
        move_over(vertices(rank), &mut desk);
        let done = work(rank);
        move_over(vertices(rank), &mut desk);
        done
    }
}

/// All goes into the other buffer, which is empty, and the two change places.
fn move_over(vertices: &mut Vec<Vertex>, other: &mut Vec<Vertex>) {
    other.append(vertices);
    std::mem::swap(vertices, other);
}

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;

    use super::*;
    use crate::graph::vertex::{Deed, Site};

    fn vertex(at: i64) -> Vertex {
        let (site, deed) = (Site::default(), Deed::Await { role: 0 });
        Vertex { at, since: 0, useful: 0, io: 0, areas: 0, owns: 0, site, deed }
    }

    /// Where the vertices lie while they are written, and in the end.
    fn write(desks: &Desks, vertices: &mut Vec<Vertex>) -> [*const Vertex; 2] {
        let meanwhile = desks.lend(
            vertices,
            |vertices| vertices,
            |vertices| {
                vertices.extend([vertex(2), vertex(3)]);
                vertices.as_ptr()
            },
        );
        assert!(vertices.iter().map(|vertex| vertex.at).eq(1..=3));
        [meanwhile, vertices.as_ptr()]
    }

    #[test]
    fn a_thread_of_several_writes_where_nobody_else_reads() {
        let desks = Desks::new(2);
        let handed_on = || {
            let mut vertices = Vec::with_capacity(8);
            vertices.push(vertex(1));
            let before = vertices.as_ptr();
            let [meanwhile, after] = write(&desks, &mut vertices);
            (meanwhile == before, after == before)
        };
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        assert_eq!(pool.install(handed_on), (false, true));
        assert_eq!(handed_on(), (true, true), "one thread alone has no desk");
    }
}
