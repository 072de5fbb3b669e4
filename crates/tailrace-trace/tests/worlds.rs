//! Communicators between a world and one that it spawned.

mod support;

use std::path::Path;

use support::{Stream, events, pack};
use tailrace_trace::event::Operation;
use tailrace_trace::open;

const OUTSIDE: u32 = u32::MAX;

/// Runs are first, step, count.
fn communicator(stream: &mut Stream, number: u32, identity: u64, groups: &[&[[u32; 3]]]) {
    let mut payload = number.to_le_bytes().to_vec();
    payload.extend(identity.to_le_bytes());
    payload.push(u8::from(groups.len() > 1));
    payload.extend(0i32.to_le_bytes());
    for group in groups {
        payload.extend((group.len() as u32).to_le_bytes());
        group.iter().flatten().for_each(|word| payload.extend(word.to_le_bytes()));
    }
    stream.record(244, &payload);
}

/// One rank that spawned two, an intercommunicator on either side, and the merged one: the parent
/// sends to rank 1 of the children, who receives from rank 0 of the parents.
fn record(directory: &Path) {
    let mut parent = Stream::rank(0, 1, 0);
    communicator(&mut parent, 2, 100, &[&[[0, 1, 1]], &[[OUTSIDE, 0, 2]]]);
    communicator(&mut parent, 3, 101, &[&[[0, OUTSIDE, 2], [OUTSIDE, 1, 1]]]);
    parent.name(1, 0, "MPI_Send").define(1, 1, 2, &[2, 1, 5, 8, 0, 0]).call(1, 1, 1);
    parent.name(2, 0, "MPI_Barrier").define(2, 2, 6, &[3, 0, -1, 0, 0, 0]).call(2, 1, 1);
    parent.save(directory, 0);
    for rank in 0..2 {
        let mut child = Stream::rank(rank, 2, 10);
        child.u32_at(12, 200 + rank).meta("spawned", "yes").meta("parent", "100");
        communicator(&mut child, 2, 200, &[&[[0, 1, 2]], &[[OUTSIDE, 0, 1]]]);
        communicator(&mut child, 3, 201, &[&[[OUTSIDE, 1, 2], [1, 1, 1]]]);
        child.name(1, 0, "MPI_Recv").define(1, 1, 3, &[2, 0, 5, 8, 0, 0, 5]).call(1, 1, 1);
        child.name(2, 0, "MPI_Barrier").define(2, 2, 6, &[3, 0, -1, 0, 0, 0]).call(2, 1, 1);
        child.save(directory, 0);
    }
}

#[test]
fn halves_of_a_communicator_between_worlds_are_one() {
    let directory = tempfile::tempdir().unwrap();
    record(directory.path());
    let trace = open(&pack(directory.path())).unwrap();
    assert_eq!(trace.tables().ranks, 3);
    let operations = |location| -> Vec<Operation> {
        events(trace.as_ref(), location).into_iter().map(|(_, shape)| shape.operation).collect()
    };
    let all: Vec<_> = (0..3).map(operations).collect();
    let Operation::Send { envelope: sent, .. } = &all[0][0] else { panic!("a send") };
    let Operation::Receive { envelope: received, .. } = &all[2][0] else { panic!("a receive") };
    assert_eq!((sent.peer, received.peer), (2, 0));
    assert_eq!(sent.communicator, received.communicator);
    let between = &trace.tables().communicators[sent.communicator as usize];
    assert_eq!((&between.members[..], between.remote.as_deref()), (&[0][..], Some(&[1, 2][..])));
    let merged: Vec<_> = all
        .iter()
        .map(|operations| match operations[1] {
            Operation::Collective { communicator, .. } => communicator,
            _ => panic!("a barrier"),
        })
        .collect();
    assert!(merged.iter().all(|communicator| *communicator == merged[0]));
    assert_eq!(trace.tables().communicators[merged[0] as usize].members[..], [0, 1, 2]);
}
