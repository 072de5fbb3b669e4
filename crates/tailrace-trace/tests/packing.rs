//! What packing adds to decoding: blocks, what wildcards matched, the same bytes each time.

mod support;

use support::{Stream, events, pack};
use tailrace_trace::event::{Operation, Part, Progress, RequestAction, SendMode, Shape, Token};
use tailrace_trace::offsets::Follower;
use tailrace_trace::pack::pack_with;
use tailrace_trace::tables::Wait;
use tailrace_trace::{Batch, open};

/// Long enough for several blocks (16,384 events each with few locations).
const MANY: u64 = 100_000;

fn writer(process: u32, calls: u64) -> Stream {
    let mut stream = Stream::new(process, 0, 0);
    stream.name(1, 2, "pwrite").path(9, b"/f");
    stream.define(1, 1, 1, &[3, 1, 9, 8, 0, 0, -1]).define(2, 1, 1, &[3, 1, 9, 8, -16, 0, -1]);
    for i in 0..calls {
        // Now and then a gap beyond 32 bits, and a write that goes back.
        let gap = if i % 30_000 == 29_999 { 5_000_000_000 } else { i % 50 };
        stream.call(if i % 1000 == 999 { 2 } else { 1 }, gap, 300 + i % 7);
    }
    stream
}

#[test]
fn many_blocks_give_back_every_call() {
    let directory = tempfile::tempdir().unwrap();
    writer(5, MANY).save(directory.path(), 0);
    let trace = open(&pack(directory.path())).unwrap();
    let mut stream = trace.events(0);
    let (mut batch, mut seen, mut cursor) = (Batch::default(), 0u64, 0i64);
    let (mut follower, mut expected_offset, mut batches) = (Follower::default(), 0i64, 0);
    while stream.next_batch(&mut batch).unwrap() {
        batches += 1;
        for event in &batch.events {
            let gap = if seen % 30_000 == 29_999 { 5_000_000_000 } else { seen as i64 % 50 };
            assert_eq!(
                (event.begin - cursor, event.end - event.begin),
                (gap, 300 + seen as i64 % 7),
                "call {seen}"
            );
            let Operation::File(call) = &batch.shapes[event.shape as usize].operation else {
                panic!("a file call")
            };
            expected_offset -= if seen % 1000 == 999 { 16 } else { 0 };
            assert_eq!(
                follower.offset(call.file, call.offset.unwrap(), call.bytes),
                expected_offset,
                "call {seen}"
            );
            expected_offset += 8;
            cursor = event.end;
            seen += 1;
        }
    }
    assert_eq!((seen, batches), (MANY, 7));
    assert_eq!(trace.tables().locations[0].events, MANY);
}

#[test]
fn the_loop_of_writes_takes_less_than_four_bytes_an_event() {
    let directory = tempfile::tempdir().unwrap();
    writer(5, MANY).save(directory.path(), 0);
    let bytes = std::fs::metadata(pack(directory.path())).unwrap().len();
    assert!(bytes < 4 * MANY, "{bytes} bytes for {MANY} events");
}

#[test]
fn the_same_run_gives_the_same_bytes_by_any_number_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    (0..6).for_each(|n| drop(writer(10 + n, 3000 * u64::from(n + 1)).save(directory.path(), 0)));
    // The last is so long that its blocks are encoded while it is decoded.
    writer(16, 2 * MANY).save(directory.path(), 0);
    let first = std::fs::read(pack(directory.path())).unwrap();
    let output = directory.path().join("again.tailrace");
    for threads in [0, 1, 2, 3, 3, 8, 8, 16] {
        pack_with(directory.path(), &output, threads, &mut |_| {}).unwrap();
        assert!(first == std::fs::read(&output).unwrap(), "{threads} threads");
    }
}

/// 5,000 calls that name 1,000 requests each: more than a reader takes of one block.
#[test]
fn calls_that_name_many_requests_fill_a_block() {
    let directory = tempfile::tempdir().unwrap();
    let mut stream = Stream::rank(0, 1, 0);
    stream.name(1, 0, "MPI_Isend").name(2, 0, "MPI_Testall");
    stream.define(1, 1, 2, &[0, 0, 7, 8, 0, 1]);
    for _ in 0..1000 {
        stream.call(1, 1, 1);
    }
    // A long shape: function 2, class 5, no place, 3,002 = 0x17 * 128 + 0x3a words.
    let mut payload = vec![2, 2, 0, 255, 5, 0, 0x3a | 0x80, 0x17];
    let words = [0, 1000].into_iter().chain((1..=1000).flat_map(|i| [i, 0, 7]));
    words.for_each(|word| support::put_word(&mut payload, word));
    stream.record(240, &payload);
    for _ in 0..5000 {
        stream.call(2, 1, 1);
    }
    stream.save(directory.path(), 0);
    assert_eq!(open(&pack(directory.path())).unwrap().tables().locations[0].events, 6000);
}

/// A receive from anyone, completed so many calls later; rank 1 sent it.
fn wildcard(calls_between: u64) -> i32 {
    let directory = tempfile::tempdir().unwrap();
    let mut stream = Stream::rank(0, 2, 0);
    stream.name(1, 0, "MPI_Irecv").name(2, 0, "MPI_Wait").name(3, 2, "lseek").define(
        1,
        1,
        3,
        &[0, -2, 5, 8, 1, -2, -1],
    );
    stream.define(2, 2, 5, &[0, 1, 1, 1, 5]).define(3, 3, 0, &[]).call(1, 1, 1);
    for _ in 0..calls_between {
        stream.call(3, 1, 1);
    }
    stream.call(2, 1, 1).save(directory.path(), 0);
    let trace = open(&pack(directory.path())).unwrap();
    let all = events(trace.as_ref(), 0);
    assert_eq!(all.len() as u64, calls_between + 2);
    let Operation::Complete { completed, .. } = &all[all.len() - 1].1.operation else {
        panic!("a completion")
    };
    assert_eq!(completed[..], [Token { location: 0, number: 0 }]);
    let Operation::Receive { envelope, wildcard: true, .. } = &all[0].1.operation else {
        panic!("a wildcard receive")
    };
    envelope.peer
}

#[test]
fn wildcards_say_what_matched_however_long_it_took() {
    assert_eq!(wildcard(0), 1);
    assert_eq!(wildcard(200_000), 1);
    // More than the 16 blocks of 16,384 events that are held back.
    assert_eq!(wildcard(270_000), 1);
    assert_eq!(wildcard(1_000_000), 1);
}

#[test]
fn another_thread_may_tell_what_a_wildcard_matched() {
    let directory = tempfile::tempdir().unwrap();
    let mut starter = Stream::rank(0, 3, 0);
    starter.name(1, 0, "MPI_Irecv").define(1, 1, 3, &[0, -2, 5, 8, 1, -2, -1]);
    starter.call(1, 1, 1).call(1, 1, 1).call(1, 1, 1).save(directory.path(), 0);
    let mut waiter = Stream::rank(0, 3, 10);
    waiter.u32_at(16, 1).u32_at(20, 0).name(2, 0, "MPI_Waitall");
    // Of thread 0 the numbers 0 and 2: 0 came from rank 2, 2 from rank 1; 1 never came.
    waiter.define(2, 2, 5, &[0, 2, -1, 2, 5, -3, 1, 5]).call(2, 1, 1).save(directory.path(), 1);
    let trace = open(&pack(directory.path())).unwrap();
    let peers: Vec<i32> = events(trace.as_ref(), 0)
        .iter()
        .map(|(_, shape)| match &shape.operation {
            Operation::Receive { envelope, .. } => envelope.peer,
            other => panic!("{other:?} is not a receive"),
        })
        .collect();
    assert_eq!(peers, [2, -2, 1]);
}

#[test]
fn an_exchange_with_anyone_says_what_it_received() {
    let directory = tempfile::tempdir().unwrap();
    let mut stream = Stream::rank(0, 3, 0);
    stream.name(1, 0, "MPI_Isendrecv").name(2, 0, "MPI_Wait");
    stream.define(1, 1, 4, &[0, 1, 5, 8, 0, -2, 7, 16, -2, -1, 1]);
    // MPICH tells a tag of its own.
    stream.define(2, 2, 5, &[0, 1, 1, 2, 99]).call(1, 1, 1).call(2, 1, 1);
    stream.save(directory.path(), 0);
    let trace = open(&pack(directory.path())).unwrap();
    let Operation::SendReceive { send, receive, progress: Progress::Started } =
        &events(trace.as_ref(), 0)[0].1.operation
    else {
        panic!("an exchange that is started")
    };
    assert_eq!((send.peer, send.tag, send.bytes), (1, 5, 8));
    assert_eq!((receive.peer, receive.tag, receive.bytes), (2, 7, 16));
}

#[test]
fn another_thread_may_complete_a_request() {
    let directory = tempfile::tempdir().unwrap();
    let mut starter = Stream::rank(0, 1, 0);
    starter
        .name(1, 0, "MPI_Isend")
        .define(1, 1, 2, &[0, 0, 5, 8, 0, 1])
        .call(1, 1, 1)
        .call(1, 1, 1)
        .save(directory.path(), 0);
    let mut waiter = Stream::rank(0, 1, 10);
    waiter.u32_at(16, 1).u32_at(20, 0).name(2, 0, "MPI_Wait");
    // Thread 0, number 1: -(0 * 2^40 + 1) - 1
    waiter.define(1, 2, 5, &[0, 1, -2, -1, -1]).call(1, 1, 1).save(directory.path(), 1);
    let trace = open(&pack(directory.path())).unwrap();
    let (_, shape) = events(trace.as_ref(), 1).remove(0);
    assert_eq!(
        shape.operation,
        Operation::Complete { completed: vec![Token { location: 0, number: 1 }], test: false }
    );
    assert_eq!(
        trace.tables().locations.iter().map(|location| location.main).collect::<Vec<_>>(),
        [true, false]
    );
}

#[test]
fn a_call_on_an_unknown_communicator_still_takes_its_number() {
    let directory = tempfile::tempdir().unwrap();
    let mut stream = Stream::rank(0, 1, 0);
    stream
        .name(1, 0, "MPI_Isend")
        .name(2, 0, "MPI_Wait")
        .define(1, 1, 2, &[99, 0, 5, 8, 0, 1])
        .define(2, 1, 2, &[0, 0, 5, 8, 0, 1]);
    stream
        .define(3, 2, 5, &[0, 1, 1, -1, -1])
        .call(1, 1, 1)
        .call(2, 1, 1)
        .call(3, 1, 1)
        .save(directory.path(), 0);
    let trace = open(&pack(directory.path())).unwrap();
    let all = events(trace.as_ref(), 0);
    assert!(all[0].1.takes_number() && all[0].1.part == Part::Call);
    assert_eq!(
        all[2].1.operation,
        Operation::Complete { completed: vec![Token { location: 0, number: 1 }], test: false }
    );
    assert!(
        trace.tables().capture.notes.iter().any(|note| note.contains("does not define")),
        "{:?}",
        trace.tables().capture.notes
    );
}

#[test]
fn a_request_without_any_communicator_is_a_plain_call() {
    let directory = tempfile::tempdir().unwrap();
    let mut stream = Stream::new(5, 0, 0);
    stream
        .name(1, 0, "MPI_Isend")
        .define(1, 1, 2, &[0, 0, 5, 8, 0, 1])
        .call(1, 1, 1)
        .save(directory.path(), 0);
    let trace = open(&pack(directory.path())).unwrap();
    assert_eq!(events(trace.as_ref(), 0)[0].1.operation, Operation::Plain);
}

#[test]
fn a_call_of_a_shape_that_was_never_defined_is_left_out_and_noted() {
    let directory = tempfile::tempdir().unwrap();
    Stream::rank(0, 1, 0).call(7, 1, 1).save(directory.path(), 0);
    let trace = open(&pack(directory.path())).unwrap();
    assert_eq!(events(trace.as_ref(), 0), []);
    assert!(trace.tables().capture.notes.iter().any(|note| note.contains("does not define")));
}

fn wait(begin: u64, end: u64, waited_ns: u64) -> Vec<u8> {
    [begin, end, waited_ns].iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[test]
fn waits_for_a_processor_are_kept_by_the_common_clock() {
    let directory = tempfile::tempdir().unwrap();
    let mut stream = writer(5, 10);
    stream.meta("cores", "0-3,8").record(251, &wait(0, 0, 0)).record(251, &wait(100, 1100, 400));
    stream.record(251, &wait(1100, 1200, 900)); // no longer than it lasts
    stream.record(251, &wait(1150, 1300, 1)).record(251, &wait(u64::MAX, 5, u64::MAX)); // none
    stream.save(directory.path(), 0);
    let trace = open(&pack(directory.path())).unwrap();
    let location = &trace.tables().locations[0];
    assert_eq!(location.cores, "0-3,8");
    let kept = [(100, 1100, 400), (1100, 1200, 100)];
    let kept = kept.map(|(begin_ns, end_ns, waited_ns)| Wait { begin_ns, end_ns, waited_ns });
    assert_eq!(location.waits.as_deref(), Some(&kept[..]));
}

#[test]
fn a_stream_without_waits_says_that_they_are_not_known() {
    let directory = tempfile::tempdir().unwrap();
    writer(5, 10).save(directory.path(), 0);
    let trace = open(&pack(directory.path())).unwrap();
    assert_eq!(trace.tables().locations[0].waits, None);
}

#[test]
fn many_waits_become_few_and_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut stream = writer(5, 10);
    for i in 0..300_000 {
        stream.record(251, &wait(i * 1_000_000, i * 1_000_000 + 1000, 10));
    }
    stream.save(directory.path(), 0);
    let trace = open(&pack(directory.path())).unwrap();
    let waits = trace.tables().locations[0].waits.clone().unwrap();
    assert!((32_768..=131_072).contains(&waits.len()), "{}", waits.len());
    assert_eq!(waits.iter().map(|wait| wait.waited_ns).sum::<i64>(), 3_000_000);
    assert!(waits.iter().all(|wait| wait.end_ns - wait.begin_ns < 20_000_000));
}

#[test]
fn no_partial_output_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let error = tailrace_trace::pack(directory.path(), &directory.path().join("out"), &mut |_| {})
        .unwrap_err();
    assert!(error.message.contains("holds no raw streams"), "{error}");
    writer(5, 10).save(directory.path(), 0);
    let error = tailrace_trace::pack(
        directory.path(),
        &directory.path().join("no/such/place"),
        &mut |_| {},
    )
    .unwrap_err();
    assert!(error.message.contains("no/such"), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

/// A rank that `launch` started, with the metas given.
fn launched(process: u32, rank: u32, ranks: u32, launch: &str, more: &[(&str, &str)]) -> Stream {
    let mut stream = Stream::rank(rank, ranks, u64::from(process) * 1000);
    stream.u32_at(12, process).meta("launch", launch).meta("exe", &format!("/bin/{launch}"));
    for (key, value) in more {
        stream.meta(key, value);
    }
    stream
}

#[test]
fn each_launch_becomes_a_trace_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    for (process, rank) in [(5, 0), (6, 1)] {
        launched(process, rank, 2, "first", &[]).save(directory.path(), 0);
    }
    launched(7, 0, 1, "second", &[]).save(directory.path(), 0);
    let output = directory.path().join("run.tailrace");
    let runs = tailrace_trace::pack(directory.path(), &output, &mut |_| {}).unwrap();
    let found: Vec<_> = runs
        .iter()
        .map(|run| {
            (run.path.file_name().unwrap().to_str().unwrap(), run.ranks, &run.meta["exe"][..])
        })
        .collect();
    let expected = [("run.tailrace", 2, "/bin/first"), ("run-2.tailrace", 1, "/bin/second")];
    assert_eq!(found, expected);
    for run in &runs {
        assert_eq!(open(&run.path).unwrap().tables().ranks, run.ranks);
        assert_eq!((run.complete, &run.notes[..]), (true, &[][..]));
    }
}

#[test]
fn what_is_not_recorded_is_said_in_a_sentence() {
    let directory = tempfile::tempdir().unwrap();
    launched(5, 0, 1, "first", &[("processes_started", "20")])
        .note("io_uring", "")
        .note("out_of_reach", "")
        .note("mmap", "/data/a")
        .note("mmap", "/data/b")
        .save(directory.path(), 0);
    let mut helper = Stream::new(6, 0, 9000);
    helper.meta("host", "node").meta("parent", "5").u64_at(80, 0).save(directory.path(), 0);
    let trace = open(&pack(directory.path())).unwrap();
    assert_eq!(
        trace.tables().meta["not_recorded"],
        "rank 0 started 19 other processes, which were not recorded; \
         the program uses io_uring, whose I/O is not recorded; \
         what the program started as another user, or below another root, was not recorded; \
         2 files are mapped into memory, where reads and writes are not seen"
    );
    assert!(trace.tables().capture.complete, "a helper need not close its stream");
    assert_eq!(trace.tables().meta["unseen"], "processes=19 io_uring out_of_reach mmap=2");
    assert!(!trace.tables().meta.contains_key("mapped_file"));
}

#[test]
fn files_that_were_opened_to_wait_for_the_device_are_known() {
    let directory = tempfile::tempdir().unwrap();
    launched(5, 0, 1, "first", &[])
        .note("direct", "/data/./b")
        .note("direct", "/data/a")
        .note("synchronous", "/data/a")
        .note("synchronous_writes", "/data/c")
        .note("mapped_writable", "/data/d")
        .note("mapped_writable", "/dev/shm/e")
        .save(directory.path(), 0);
    let trace = open(&pack(directory.path())).unwrap();
    let tables = trace.tables();
    assert_eq!(tables.meta["opened_direct"], "/data/a\x1f/data/b");
    assert_eq!(tables.meta["opened_synchronous"], "/data/a");
    assert_eq!(tables.meta["written_synchronously"], "/data/c");
    assert_eq!(tables.meta["mapped_writable"], "/data/d", "what is memory is on no file system");
    assert!(tables.capture.notes.is_empty(), "it is nothing that is missing");
}

#[test]
fn what_the_kernel_counted_is_the_difference_of_end_and_begin() {
    let directory = tempfile::tempdir().unwrap();
    // The thread that asks, how long it ran, bytes written and read, of processes, their time.
    let counted = [
        // and page faults
        ("9 100 4096 0 0 0 0 0 0 20 1", "9 700 1004096 512 1024 0 30 0 0 5020 4"),
        ("8 100 0 0 0 0 0", "7 900 1000000 0 0 0 0"), // another thread saw the end
        ("8 100 0 0 0 0 0", "8 100 1000 0 0 0 0"),    // less than its own stream
    ];
    for (rank, (begin, end)) in counted.into_iter().enumerate() {
        Stream::rank(rank as u32, 3, 1000)
            .meta("usage_begin", "1 1 1 1 1 1 1") // of the process's start; MPI_Init's comes later
            .meta("usage_begin", begin)
            .meta("usage_end", end)
            .save(directory.path(), 0);
    }
    let trace = open(&pack(directory.path())).unwrap();
    let (written, rest) = trace.tables().meta["usage"].split_once(' ').unwrap();
    assert_eq!(rest, "512 1024 0 30");
    assert_eq!(trace.tables().meta["faults"], "5000 3");
    // a million each, less a stream of few records: its header, and at most a page
    let streams = 2_000_000 - written.parse::<u64>().unwrap();
    assert!((2 * 8192..2 * 8192 + 2000).contains(&streams), "{streams}");
    assert_eq!(trace.tables().meta["ran_ns"], "600,,0");
}

#[test]
fn what_each_rank_compressed_and_decompressed_stands_side_by_side() {
    let directory = tempfile::tempdir().unwrap();
    let both = "3000 2 96 27;7 1 5 5 32015";
    let said = [Some(both), None, Some("3000 2 96"), Some("5 1 8 a"), Some("3000 2 96 27;1")];
    for (rank, said) in said.into_iter().enumerate() {
        let mut stream = Stream::rank(rank as u32, 5, 1000);
        if let Some(text) = said {
            stream.meta("compressed", text);
            stream.meta("decompressed", "1 1 2 3");
        }
        stream.save(directory.path(), 0);
    }
    let trace = open(&pack(directory.path())).unwrap();
    let meta = &trace.tables().meta;
    let whole = format!("{both},,,,");
    assert_eq!(meta["compressed"], whole, "what is not four numbers or five is none");
    assert_eq!(meta["decompressed"], "1 1 2 3,,1 1 2 3,1 1 2 3,1 1 2 3");
}

#[test]
fn what_makes_a_communicator_says_who_makes_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut stream = Stream::rank(0, 3, 0);
    stream.name(1, 0, "MPI_Comm_split").name(2, 0, "MPI_Comm_create_group");
    stream.name(3, 0, "MPI_Intercomm_create").name(4, 2, "open");
    stream.communicator(2, 9, 0, 0, 2);
    // Of MPI_COMM_WORLD; of the new one's members only; without a parent. The first holds a call.
    stream.define(1, 1, 0, &[]).define(2, 1, 8, &[0, 2, 0]).define(5, 4, 0, &[]);
    stream.define(3, 2, 8, &[0, 2, 2]).define(4, 3, 8, &[-1, 2, 0]);
    stream.enter(1, 1).call(5, 1, 1).leave(2, 1).call(3, 1, 1).call(4, 1, 1);
    stream.save(directory.path(), 0);
    let trace = open(&pack(directory.path())).unwrap();
    let of = |identity| {
        trace.tables().communicators.iter().position(|c| c.identity == identity).unwrap() as u32
    };
    let (world, split) = (of(0), of(9));
    let made = |shape: &Shape| match &shape.operation {
        Operation::CommunicatorCreation { communicator, .. } => Some(*communicator),
        _ => None,
    };
    let found: Vec<_> =
        events(trace.as_ref(), 0).iter().map(|(_, shape)| (shape.part, made(shape))).collect();
    assert_eq!(
        found,
        [
            (Part::Enter, Some(world)),
            (Part::Call, None),
            (Part::Leave, Some(world)),
            (Part::Call, Some(split)),
            (Part::Call, Some(split)),
        ]
    );
}

#[test]
fn what_is_done_to_a_request_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let mut stream = Stream::rank(0, 2, 0);
    stream.name(1, 0, "MPI_Psend_init").name(2, 0, "MPI_Pready").name(3, 0, "MPI_Cancel");
    // Partitioned and persistent; the distance to it is less than the action's number.
    stream.define(1, 1, 2, &[0, 1, 5, 8, 0, 7]).define(2, 2, 11, &[1, 2]);
    stream.define(3, 3, 11, &[1, 1]).define(4, 3, 11, &[1]);
    stream.call(1, 1, 1).call(2, 1, 1).call(3, 1, 1).call(4, 1, 1);
    stream.save(directory.path(), 0);
    let trace = open(&pack(directory.path())).unwrap();
    let found: Vec<Operation> =
        events(trace.as_ref(), 0).into_iter().map(|(_, shape)| shape.operation).collect();
    assert!(matches!(found[0], Operation::Send { mode: SendMode::Partitioned, .. }));
    let token = Token { location: 0, number: 0 };
    let actions = [RequestAction::Ready, RequestAction::Cancel, RequestAction::Free];
    assert_eq!(found[1..], actions.map(|action| Operation::OnRequest { token, action }));
}
