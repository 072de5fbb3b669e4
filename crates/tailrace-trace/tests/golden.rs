//! Streams spelled out byte by byte from `docs/reference/internals/trace.md`, and what they
//! must mean.

mod support;

use support::{Stream, events, pack};
use tailrace_trace::event::{Envelope, FileKind, Flow, Layer, Operation, Part, Progress, Token};
use tailrace_trace::open;
use tailrace_trace::tables::{Ended, Window};

/// A program without MPI that writes 8 bytes twice, every byte of its records in hexadecimal.
#[test]
fn two_writes_spelled_out() {
    let records: &[&[u8]] = &[
        // meta (247 = f7): "node", 0, "n": 6 bytes
        &[0xf7, 0, 6, 0, b'n', b'o', b'd', b'e', 0, b'n'],
        // clock (241 = f1), 28 bytes: ticks 1000, 5000 ns, width 2, realtime 0
        &[
            0xf1, 0, 28, 0, 0xe8, 3, 0, 0, 0, 0, 0, 0, 0x88, 0x13, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0,
        ],
        // path (243 = f3): file 3, "/f"
        &[0xf3, 0, 6, 0, 3, 0, 0, 0, b'/', b'f'],
        // name (242 = f2): function 17 = 0x11, layer 2 POSIX, "pwrite"
        &[0xf2, 0, 9, 0, 0x11, 0, 2, b'p', b'w', b'r', b'i', b't', b'e'],
        // define (240 = f0): shape 1, function 17, class 1 file, 7 words. Zigzag: op 3 write -> 6,
        // flags 1 offset -> 2, file 3 -> 6, bytes 8 -> 16, offset +100 -> 200 = varint c8 01, error
        // 0 -> 0, comm -1 -> 1
        &[0xf0, 0, 13, 0, 1, 0x11, 0, 1, 7, 6, 2, 6, 0x10, 0xc8, 1, 0, 1],
        // call of shape 1: lengths 0x21 = 1 byte of gap, 2 of duration; gap 10, duration 0x0102 =
        // 258
        &[1, 0x21, 10, 0x02, 0x01],
        // the same shape, now sequential: offset +0
        &[0xf0, 0, 12, 0, 1, 0x11, 0, 1, 7, 6, 2, 6, 0x10, 0, 0, 1],
        // lengths 0x11: gap 6, duration 4
        &[1, 0x11, 6, 4],
        // end (250 = fa), empty
        &[0xfa, 0, 0, 0],
    ];
    // The header says: process 7, thread 0, main, 2e9 ticks per second of the counter, started at
    // tick 1000.
    let mut stream = Stream::new(7, 0, 1000);
    stream.u64_at(24, 2_000_000_000).u32_at(32, 1);
    stream.bytes.extend(records.concat());
    let directory = tempfile::tempdir().unwrap();
    stream.save(directory.path(), 0);

    let trace = open(&pack(directory.path())).unwrap();
    let tables = trace.tables();
    assert_eq!(
        (tables.ranks, tables.files[0].path.as_slice(), tables.functions[0].name.as_str()),
        (1, &b"/f"[..], "pwrite")
    );
    assert_eq!(tables.functions[0].layer, Layer::Posix);
    let events = events(trace.as_ref(), 0);
    // 2 ticks are 1 ns, the origin is the stream's start: 10 ticks -> 5 ns, +258 -> 134 ns, +6 ->
    // 137, +4 -> 139.
    let times: Vec<(i64, i64)> = events.iter().map(|(event, _)| (event.begin, event.end)).collect();
    assert_eq!(times, [(5, 134), (137, 139)]);
    let calls = events.iter().map(|(_, shape)| match &shape.operation {
        Operation::File(call) => (call.kind, call.bytes, call.offset, call.error, call.opaque),
        other => panic!("{other:?} is no file call"),
    });
    assert_eq!(
        calls.collect::<Vec<_>>(),
        [(FileKind::Write, 8, Some(100), 0, false), (FileKind::Write, 8, Some(0), 0, false)]
    );
    assert_eq!(tables.window, Some(Window { begin_ns: 0, end_ns: 139 }));
    assert!(tables.capture.complete, "{:?}", tables.capture.notes);
}

fn envelope(communicator: u32, peer: i32, tag: i32, bytes: u64) -> Envelope {
    Envelope { communicator, peer, tag, bytes }
}

/// Three ranks; a communicator of ranks 1 and 2 in which 0 means rank 1.
#[test]
fn ranks_requests_and_wildcards_are_those_of_the_run() {
    let directory = tempfile::tempdir().unwrap();
    for rank in 0..3u32 {
        let mut stream = Stream::rank(rank, 3, 1000);
        stream.name(1000, 0, "MPI_Init").define(1, 1000, 10, &[0, 0]).call(1, 0, 100);
        if rank > 0 {
            stream.communicator(5, 77, rank as i32 - 1, 1, 2);
        }
        if rank == 2 {
            // Irecv from anyone in the communicator of 1 and 2, capacity 64; Isend to its rank 0;
            // Waitall of both: the receive got its message from rank 0 there, tag 4.
            stream
                .name(1001, 0, "MPI_Irecv")
                .define(2, 1001, 3, &[5, -2, -1, 64, 1, -2, -1])
                .call(2, 10, 5);
            stream
                .name(1002, 0, "MPI_Isend")
                .define(3, 1002, 2, &[5, 0, 9, 32, 0, 1])
                .call(3, 10, 5);
            stream
                .name(1003, 0, "MPI_Waitall")
                .define(4, 1003, 5, &[0, 2, 2, 0, 4, 1, -1, -1])
                .call(4, 10, 50);
        }
        stream.name(1004, 0, "MPI_Bcast").define(5, 1004, 6, &[0, 1, 2, 8, 0, 0]).call(5, 20, 7);
        stream.name(1005, 0, "MPI_Finalize").define(6, 1005, 10, &[1, 0]).call(6, 30, 9);
        stream.save(directory.path(), 0);
    }
    let trace = open(&pack(directory.path())).unwrap();
    let operations: Vec<Operation> =
        events(trace.as_ref(), 2).into_iter().map(|(_, shape)| shape.operation).collect();
    let pair = trace
        .tables()
        .communicators
        .iter()
        .position(|communicator| communicator.identity == 77)
        .unwrap() as u32;
    assert_eq!(*trace.tables().communicators[pair as usize].members, [1, 2]);
    let token = |number| Token { location: 2, number };
    let expected = [
        Operation::Initialize,
        Operation::Receive {
            envelope: envelope(pair, 1, 4, 64),
            wildcard: true,
            progress: Progress::Started,
        },
        Operation::Send {
            envelope: envelope(pair, 1, 9, 32),
            mode: tailrace_trace::event::SendMode::Standard,
            progress: Progress::Started,
        },
        Operation::Complete { completed: vec![token(0), token(1)], test: false },
        Operation::Collective {
            communicator: 0,
            flow: Flow::FromRoot(2),
            bytes_sent: 8,
            bytes_received: 0,
            progress: Progress::Blocking,
        },
        Operation::Finalize,
    ];
    assert_eq!(operations, expected);
    // Init ends at 100; finalize begins on rank 2 at 100+15+15+60+27+30 = 247, on the others at
    // 157.
    assert_eq!(trace.tables().window, Some(Window { begin_ns: 100, end_ns: 247 }));
}

/// A POSIX write inside a collective MPI-IO write: the file is not opaque. Another, without: it is.
#[test]
fn nesting_tells_which_files_are_opaque() {
    let directory = tempfile::tempdir().unwrap();
    let mut stream = Stream::rank(0, 1, 0);
    stream
        .name(1, 1, "MPI_File_write_all")
        .name(2, 2, "pwrite")
        .path(0, b"/seen")
        .path(1, b"/hidden")
        .path(2, b"/driver's name");
    stream.define(1, 1, 1, &[3, 3, 0, 8, 0, 0, 0]).define(2, 2, 1, &[3, 1, 2, 8, 0, 0, -1]).define(
        3,
        1,
        1,
        &[3, 3, 1, 8, 0, 0, 0],
    );
    stream.enter(1, 10).call(2, 5, 20).leave(1, 3).call(3, 4, 6);
    stream.save(directory.path(), 0);
    let trace = open(&pack(directory.path())).unwrap();
    let opaque: Vec<bool> = trace.tables().files.iter().map(|file| file.opaque).collect();
    assert_eq!(opaque, [false, true, false]);
    let events = events(trace.as_ref(), 0);
    let told: Vec<_> =
        events.iter().map(|(event, shape)| (event.begin, event.end, shape.part)).collect();
    assert_eq!(
        told,
        [(10, 10, Part::Enter), (15, 35, Part::Call), (38, 38, Part::Leave), (42, 48, Part::Call)]
    );
    let Operation::File(last) = &events[3].1.operation else { panic!("a file call") };
    assert!(last.opaque && last.collective == Some(0));
}

/// A shape with flag 32 is about whatever file was named last when it is used.
#[test]
fn the_latest_file_is_the_one_named_last() {
    let directory = tempfile::tempdir().unwrap();
    let mut stream = Stream::rank(0, 1, 0);
    stream.name(1, 2, "pwrite").path(7, b"/first");
    stream.define(1, 1, 1, &[3, 33, 0, 8, 0, 0, -1]).define(2, 1, 1, &[3, 1, 7, 8, 0, 0, -1]);
    // 8 bytes at 0 of the first, then 8 at 0 of the second, and 8 at 8 of the first by its number:
    // each where the call before it on that file ended
    stream.call(1, 5, 20).path(8, b"/second").call(1, 5, 20).call(2, 5, 20);
    stream.save(directory.path(), 0);
    let trace = open(&pack(directory.path())).unwrap();
    let told: Vec<_> = events(trace.as_ref(), 0)
        .iter()
        .map(|(_, shape)| match &shape.operation {
            Operation::File(file) => {
                (trace.tables().files[file.file as usize].path.clone(), file.offset)
            }
            _ => panic!("a file call"),
        })
        .collect();
    let files = ["/first", "/second", "/first"];
    assert_eq!(told, files.map(|path| (path.into(), Some(0))));
}

/// A rank that was killed inside a write, its stream neither closed nor its MPI-IO call left.
#[test]
fn a_killed_rank_leaves_what_it_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let mut stream = Stream::rank(0, 1, 0);
    stream.name(1, 1, "MPI_File_write").name(2, 2, "pwrite").path(0, b"/f");
    stream
        .define(1, 1, 1, &[3, 0, 0, 8, 0, 0, -1])
        .define(2, 2, 1, &[3, 0, 0, 8, 0, 0, -1])
        .enter(1, 10)
        .call(2, 5, 20);
    // closed 0; in flight since tick 50 in function 2; the last record is cut in its middle
    stream.u64_at(80, 0).u64_at(56, 50).u64_at(64, 2).u64_at(48, 3);
    stream.bytes.extend([2, 0x88, 1, 2, 3]);
    let path = stream.save(directory.path(), 0);
    std::fs::write(path, &stream.bytes).unwrap();
    let trace = open(&pack(directory.path())).unwrap();
    let told: Vec<_> = events(trace.as_ref(), 0)
        .iter()
        .map(|(event, shape)| (event.begin, event.end, shape.part))
        .collect();
    assert_eq!(told, [(10, 10, Part::Enter), (15, 35, Part::Call), (35, 35, Part::Leave)]);
    let tables = trace.tables();
    let unfinished = tables.locations[0].unfinished.clone().unwrap();
    assert_eq!((unfinished.begin_ns, unfinished.function), (50, Some(1)));
    assert_eq!(tables.locations[0].ended, Ended::Unknown);
    assert_eq!(
        (tables.locations[0].end_ns, tables.capture.lost, tables.capture.complete),
        (50, 3, false)
    );
    let notes = tables.capture.notes.join("\n");
    assert!(
        notes.contains("rank 0 was in pwrite when it ended") && notes.contains("3 calls of rank 0"),
        "{notes}"
    );
    assert!(notes.contains("damaged at byte"), "{notes}");
}

/// 300 requests do not fit into one definition: class 255, then 254.
#[test]
fn long_shapes_are_continued() {
    let directory = tempfile::tempdir().unwrap();
    let mut stream = Stream::rank(0, 1, 0);
    stream.name(1, 0, "MPI_Irecv").name(2, 0, "MPI_Waitall").define(
        1,
        1,
        3,
        &[0, 0, 7, 8, 1, -2, -1],
    );
    for _ in 0..300 {
        stream.call(1, 1, 1);
    }
    let mut words = vec![0, 300];
    (0..300).for_each(|i| words.extend([300 - i, 0, 7]));
    let (first, rest) = words.split_at(255);
    let mut payload = vec![2, 2, 0, 255, 5, 0];
    // 902 words in all, as a varint without zigzag: 902 = 7 * 128 + 6
    payload.extend([0x86, 7]);
    for &word in first {
        support::put_word(&mut payload, word);
    }
    stream.record(240, &payload);
    for more in rest.chunks(255) {
        let mut payload = vec![2, 2, 0, 254, more.len() as u8];
        for &word in more {
            support::put_word(&mut payload, word);
        }
        stream.record(240, &payload);
    }
    stream.call(2, 1, 100).save(directory.path(), 0);
    let trace = open(&pack(directory.path())).unwrap();
    let all = events(trace.as_ref(), 0);
    let expected = (0..300).map(|number| Token { location: 0, number }).collect();
    assert_eq!(all[300].1.operation, Operation::Complete { completed: expected, test: false });
}

/// A pwrite from line 12 of a script's `step`, which a program called at 0x80: the program is not
/// there to be asked for names. A place that was never defined is not known.
#[test]
fn places_are_those_of_the_stream() {
    let directory = tempfile::tempdir().unwrap();
    let mut stream = Stream::new(7, 0, 1000);
    stream.path(3, b"/f").name(17, 2, "pwrite");
    stream
        .record(252, b"\x01\0\0\0\0/no/such/program")
        .record(252, b"\x02\0\0\0\0/a.py\0step")
        .record(253, &[1, 0, 0, 0, 1, 2, 12, 1, 0x80, 1]);
    for (shape, place) in [(1, 1), (2, 9), (3, 0)] {
        stream.record(240, &[shape, 17, 0, 1, 7, 6, 0, 6, 16, 0, 0, 1, place]).call(shape, 1, 1);
    }
    stream.save(directory.path(), 0);
    let trace = open(&pack(directory.path())).unwrap();
    let places: Vec<u32> = events(trace.as_ref(), 0).iter().map(|(_, shape)| shape.place).collect();
    assert_eq!(places, [1, 0, 0]);
    let places = &trace.tables().places;
    let path = places.path(1).unwrap();
    assert!(path.cut);
    let frames: Vec<_> = path.frames.iter().map(|&i| places.frames[i as usize].clone()).collect();
    let texts = |i: usize| (frames[i].function.as_str(), frames[i].source.as_str());
    assert_eq!((texts(0), frames[0].line), (("step", "/a.py"), 12));
    assert_eq!((texts(1), frames[1].line), (("program+0x80", ""), 0));
}
