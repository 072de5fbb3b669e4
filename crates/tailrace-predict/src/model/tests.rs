//! What a model's calls take, by arithmetic.

use super::*;

const fn only(access: Access) -> [bool; Access::KINDS] {
    let mut kinds = [false; Access::KINDS];
    kinds[access as usize] = true;
    kinds
}

const PLAIN: Parameters = Parameters {
    calls: [10.; Access::KINDS],
    create: 70.,
    attributes: 3.,
    cached_read: 2.,
    scattered_write: 5.,
    synchronize_clean: 1.,
    lock_after_write: 0.,
    lock_after_write_unwaited: 0.,
    sent_write: 0.,
    sent_scattered_write: 0.,
    shared_write: 0.,
    shared_write_queued: 0.,
    arrival: 0.,
    arrival_beside: 0.,
    arrival_among: 0.,
    cores: None,
    copy: 1.,
    cached: 1.,
    write: 4.,
    read: 2.,
    write_behind: 100.,
    room_by_file: false,
    stays: false,
    drains: only(Access::Close),
    end_drains: true,
    behind_writes: [false; Access::KINDS],
    rereads: Rereads::WhileOpen,
    whole_pages: false,
    link: 0.,
    servers: None,
    locks: None,
    bucket: 0.,
    metadata: 0.,
    processors: Processors::NONE,
};

fn call(access: Access, offset: i64, bytes: u64) -> FileCall {
    let naming = Naming::Stays;
    let (offset, after_wait) = (Some(offset), false);
    FileCall { begin: 0, end: 0, access, naming, file: 0, bytes, offset, after_wait }
}

fn ends(parameters: &Parameters, calls: &[FileCall]) -> Vec<i64> {
    ends_of(Modelled::new(parameters, &[0], false), calls)
}

/// One call after another.
fn ends_of(mut model: Modelled<'_>, calls: &[FileCall]) -> Vec<i64> {
    let mut now = 0;
    let mut end = |call| {
        now = model.end(0, now, call);
        now
    };
    calls.iter().map(&mut end).collect()
}

#[test]
fn a_write_returns_when_it_is_copied_or_has_room() {
    // 10 by itself and 100 to copy; on the way until 110 + 400 = 510.
    // The second is copied at 220, and on the servers at 910: it returns when no more than 100
    // bytes are left, at 910 − 400 = 510.
    let writes = [call(Access::Write, 0, 100), call(Access::Write, 100, 100)];
    assert_eq!(ends(&PLAIN, &writes), [110, 510]);
    // Without room it is on the servers when it returns.
    let through = Parameters { write_behind: 0., ..PLAIN };
    assert_eq!(ends(&through, &writes), [510, 510 + 110 + 400]);
}

#[test]
fn calls_that_take_for_ever_end_at_the_latest_moment() {
    for longest in [1e19, f64::MAX, f64::INFINITY, f64::NAN] {
        let endless = Parameters { calls: [longest; Access::KINDS], ..PLAIN };
        let closes = [call(Access::Close, 0, 0); 20];
        assert_eq!(ends(&endless, &closes), [LATEST; 20], "{longest}");
    }
}

#[test]
fn a_close_waits_for_what_was_written_where_it_drains() {
    let calls = [call(Access::Write, 0, 100), call(Access::Close, 0, 0)];
    assert_eq!(ends(&PLAIN, &calls), [110, 510 + 10]);
    let lazy = Parameters { drains: [false; Access::KINDS], ..PLAIN };
    assert_eq!(ends(&lazy, &calls), [110, 120]);
}

#[test]
fn a_client_reads_what_it_knows_from_memory_as_long_as_the_file_is_open() {
    let calls = [
        call(Access::Read, 0, 50),  // 10 + 50 × 2
        call(Access::Read, 0, 50),  // 2 + 50
        call(Access::Close, 0, 0),  // 10
        call(Access::Read, 0, 50),  // as the first
        call(Access::Read, 25, 50), // half of it is known: 10 + 25 + 25 × 2
    ];
    assert_eq!(ends(&PLAIN, &calls), [110, 162, 172, 282, 367]);
}

#[test]
fn the_end_of_a_file_may_be_asked_of_the_servers() {
    let calls = [call(Access::Write, 0, 100), call(Access::Read, 100, 0)];
    assert_eq!(ends(&PLAIN, &calls), [110, 512]);
    let knows = Parameters { end_drains: false, ..PLAIN };
    assert_eq!(ends(&knows, &calls), [110, 112]);
}

#[test]
fn a_write_elsewhere_costs_more() {
    let calls = [call(Access::Write, 0, 1), call(Access::Write, 7, 1)];
    assert_eq!(ends(&PLAIN, &calls), [11, 11 + 10 + 5 + 1]);
}

#[test]
fn two_ranks_share_the_way() {
    let through = Parameters { write_behind: 0., ..PLAIN };
    let mut model = Modelled::new(&through, &[0, 1], false);
    let write = call(Access::Write, 0, 100);
    assert_eq!(model.end(0, 0, &write), 510);
    assert_eq!(model.end(1, 0, &write), 910);
}

#[test]
fn a_warm_client_knows_what_it_did_not_read_where_it_keeps_files_beyond_their_close() {
    let calls = [call(Access::Read, 0, 50)];
    let keeps = Parameters { rereads: Rereads::Always, ..PLAIN };
    // 2 + 50 instead of 10 + 100
    assert_eq!(ends_of(Modelled::new(&keeps, &[0], true), &calls), [52]);
    assert_eq!(ends_of(Modelled::new(&keeps, &[0], false), &calls), [110]);
    assert_eq!(ends_of(Modelled::new(&PLAIN, &[0], true), &calls), [110]);
}

#[test]
fn of_what_a_client_wrote_it_may_know_whole_pages_only() {
    let calls = [
        call(Access::Write, 0, 6000),
        call(Access::Write, 6000, 6000),
        call(Access::Synchronize, 0, 0),
        call(Access::Read, 0, 4096),    // known: 2 + 4096
        call(Access::Read, 4096, 4000), // no write filled its page: 10 + 4000 × 2
        call(Access::Read, 8096, 96),   // came with it: 2 + 96
        call(Access::Read, 8192, 4096), // of the third page too: 10 + 4096 × 2
    ];
    let whole = Parameters { whole_pages: true, ..PLAIN };
    let steps = |parameters| -> Vec<i64> {
        ends(parameters, &calls).windows(2).map(|pair| pair[1] - pair[0]).skip(2).collect()
    };
    assert_eq!(steps(&whole), [4098, 8010, 98, 8202]);
    assert_eq!(steps(&PLAIN), [4098, 4002, 98, 10 + 3808 + 288 * 2]);
}

#[test]
fn the_last_of_a_nodes_ranks_that_closes_a_file_forgets_it() {
    let open = call(Access::Open, 0, 0);
    let (close, read) = (call(Access::Close, 0, 0), call(Access::Read, 0, 50));
    let calls = [open, open, read, close, read, close, read];
    assert_eq!(ends(&PLAIN, &calls), [10, 20, 130, 140, 192, 202, 312]);
}

#[test]
fn a_file_that_was_made_is_not_clean() {
    let make = FileCall { naming: Naming::Made, ..call(Access::Open, 0, 0) };
    let sync = call(Access::Synchronize, 0, 0);
    assert_eq!(ends(&PLAIN, &[make, sync, sync]), [70, 80, 81]);
}

#[test]
fn what_stays_goes_when_its_own_file_is_brought_to_the_servers() {
    let stays = Parameters { stays: true, write_behind: 1000., ..PLAIN };
    let (write, other) =
        (call(Access::Write, 0, 100), FileCall { file: 1, ..call(Access::Write, 0, 50) });
    let sync = |file| FileCall { file, ..call(Access::Synchronize, 0, 0) };
    // Copied at 110 and 170. The second file alone goes: 170 + 50 · 4, and 10; then the first.
    let calls = [write, other, sync(1), sync(0), sync(0)];
    assert_eq!(ends(&stays, &calls), [110, 170, 380, 790, 791]);
    // what goes at once goes in order, and while the process does something else
    let at_once = Parameters { stays: false, ..stays };
    assert_eq!(ends(&at_once, &calls), [110, 170, 720, 730, 731]);
    // a close that waits sends it, too; a read of what is in memory does not
    let close = [write, call(Access::Read, 0, 100), call(Access::Close, 0, 0)];
    assert_eq!(ends(&stays, &close), [110, 212, 622]);
}

#[test]
fn what_is_written_again_while_it_stays_goes_once() {
    let stays = Parameters { stays: true, write_behind: 150., ..PLAIN };
    let (write, sync) = (|at| call(Access::Write, at, 100), call(Access::Synchronize, 0, 0));
    // Copied at 110 and 225, then, for half of it, at 340: 150 bytes go, 340 + 150 · 4, and 10.
    assert_eq!(ends(&stays, &[write(0), write(0), write(50), sync]), [110, 225, 340, 950]);
}

#[test]
fn what_has_no_room_to_stay_goes_at_once() {
    let stays = Parameters { stays: true, write_behind: 150., ..PLAIN };
    // Of the second there is no room: it is copied at 220, and on the servers at 620; it returns
    // when no more than 150 bytes are on their way, which is at once.
    let calls = [0, 100].map(|offset| call(Access::Write, offset, 100));
    assert_eq!(ends(&stays, &calls), [110, 220]);
}

#[test]
fn the_first_open_that_makes_a_file_makes_it_until_it_is_removed() {
    let named = |access, naming| FileCall { naming, ..call(access, 0, 0) };
    let (make, find) = (named(Access::Open, Naming::Made), named(Access::Open, Naming::Found));
    let remove = named(Access::Other, Naming::Gone);
    let other = FileCall { file: 1, ..make };
    let calls = [make, make, remove, find, make, remove, make, other];
    let steps = |calls: &[FileCall]| -> Vec<i64> {
        let ends = ends(&PLAIN, calls);
        std::iter::once(ends[0]).chain(ends.windows(2).map(|two| two[1] - two[0])).collect()
    };
    assert_eq!(steps(&calls), [70, 10, 10, 10, 10, 10, 70, 70]);
    // what leaves the name is another kind of call, and what makes a directory is as one that
    // renames
    let chmod = FileCall { offset: None, ..named(Access::Other, Naming::Stays) };
    assert_eq!(steps(&[chmod, named(Access::Other, Naming::Made)]), [3, 10]);
    // on another node it is the same file
    let mut model = Modelled::new(&PLAIN, &[0, 1], false);
    assert_eq!([model.end(0, 0, &make), model.end(1, 0, &make)], [70, 10]);
}

#[test]
fn dropped_pages_are_read_again_but_what_is_on_its_way_stays() {
    let (read, drop) = (call(Access::Read, 0, 50), |from| call(Access::Other, from, 0));
    // Of the third reading 20 bytes are known: 172 + 10 + 20 + 30 · 2.
    assert_eq!(ends(&PLAIN, &[read, read, drop(20), read]), [110, 162, 172, 262]);
    let keeps = Parameters { rereads: Rereads::Always, ..PLAIN };
    let warm = Modelled::new(&keeps, &[0], true);
    assert_eq!(ends_of(warm, &[read, drop(0), read]), [52, 62, 114]);
    // Written until 510.
    let write = call(Access::Write, 0, 100);
    assert_eq!(ends(&PLAIN, &[write, drop(0), read]), [110, 120, 172]);
}

#[test]
fn bytes_go_both_ways_at_once() {
    // Written until 510; another file is read meanwhile, from 110 to 220.
    let other = FileCall { file: 1, ..call(Access::Read, 0, 50) };
    assert_eq!(ends(&PLAIN, &[call(Access::Write, 0, 100), other]), [110, 220]);
}

#[test]
fn a_call_may_wait_behind_the_writes_of_other_files() {
    let other = FileCall { file: 1, ..call(Access::LookUp, 0, 0) };
    let calls = [call(Access::Write, 0, 100), other];
    assert_eq!(ends(&PLAIN, &calls), [110, 120]);
    let behind = Parameters { behind_writes: only(Access::LookUp), ..PLAIN };
    assert_eq!(ends(&behind, &calls), [110, 520]);
}

#[test]
fn who_synchronizes_what_is_on_the_servers_pays_less() {
    let (write, sync) = (call(Access::Write, 0, 1), call(Access::Synchronize, 0, 0));
    assert_eq!(ends(&PLAIN, &[sync, write, sync, sync]), [1, 12, 26, 27]);
}

#[test]
fn a_lock_takes_more_after_a_write_of_its_rank_to_that_file() {
    let parameters = Parameters { lock_after_write_unwaited: 7., ..PLAIN };
    let calls = [
        call(Access::Lock, 0, 0),   // 10
        call(Access::Write, 0, 10), // 10 + 10
        call(Access::Lock, 0, 0),   // gives it back: 10 + 7
        call(Access::Lock, 0, 0),   // 10
    ];
    assert_eq!(ends(&parameters, &calls), [10, 30, 47, 57]);
    // Where a lock drains, it first waits until all has come: at 30 + 10 × 4.
    let drains = Parameters { drains: only(Access::Lock), ..parameters };
    assert_eq!(ends(&drains, &calls), [10, 30, 87, 97]);
    // What is written to another file, or by another rank, is no matter of this lock.
    let other = FileCall { file: 1, ..calls[0] };
    assert_eq!(ends(&parameters, &[calls[1], other]), [20, 30]);
    let mut model = Modelled::new(&parameters, &[0, 0], false);
    assert_eq!([model.end(0, 0, &calls[1]), model.end(1, 0, &calls[0])], [20, 10]);
    assert_eq!(model.end(0, 20, &calls[2]), 37);
}

#[test]
fn a_lock_after_a_write_takes_what_it_takes_in_step_where_its_rank_waited() {
    let parameters = Parameters { lock_after_write: 7., lock_after_write_unwaited: 3., ..PLAIN };
    let (lock, write) = (call(Access::Lock, 0, 0), call(Access::Write, 0, 10));
    let waited = FileCall { after_wait: true, ..lock };
    // 10, 10 + 10 and 10 + 7; then, as it goes on at once, 10 + 3
    let calls = [waited, write, lock, lock, call(Access::Write, 10, 10), lock];
    assert_eq!(ends(&parameters, &calls), [10, 30, 47, 57, 77, 90]);
    // The wait may come before the write or the lock that follows it, too.
    let late = FileCall { after_wait: true, ..write };
    assert_eq!(ends(&parameters, &[lock, late, lock]), [10, 30, 47]);
    assert_eq!(ends(&parameters, &[lock, write, waited]), [10, 30, 47]);
}

#[test]
fn writes_may_take_their_time_on_the_way() {
    // On the servers at 11 + 20 + 4 = 35, the second, elsewhere, at 35 + 20 + 30 + 4 = 89.
    let slow = Parameters { sent_write: 20., sent_scattered_write: 30., ..PLAIN };
    let sync = call(Access::Synchronize, 0, 0);
    let calls = [call(Access::Write, 0, 1), call(Access::Write, 7, 1), sync];
    assert_eq!(ends(&slow, &calls), [11, 27, 99]);
}

#[test]
fn writes_of_several_take_as_long_at_least_as_one_by_one() {
    // A write is copied at 11, and its byte sent 4 later. The other rank's, elsewhere, is copied at
    // 16 and sent 30 later; from then on each takes 30 behind the one before.
    let shared = Parameters { shared_write: 30., write_behind: 0., ..PLAIN };
    let calls = |place: i64| [place, place + 1].map(|place| call(Access::Write, place, 1));
    let mut model = Modelled::new(&shared, &[0, 0], false);
    let mut at = |rank, now, call| model.end(rank, now, &call);
    assert_eq!([at(0, 0, calls(0)[0]), at(1, 0, calls(5)[0])], [15, 46]);
    assert_eq!([at(0, 15, calls(0)[1]), at(1, 46, calls(5)[1])], [76, 106]);
}

#[test]
fn each_of_several_takes_longer_the_more_are_on_their_way() {
    // Copied at 11, sent at 15; the other rank's finds none on its way: copied at 26, sent 30 later.
    // The third begins at 26 and finds that one: 5 more, behind it. At 91 none is left.
    let shared = Parameters { shared_write: 30., shared_write_queued: 5., ..PLAIN };
    let mut model = Modelled::new(&shared, &[0, 0], false);
    let sent = [(0, 0), (15, 1), (26, 2), (91, 3)].map(|(now, place)| {
        model.end(place as u32 % 2, now, &call(Access::Write, place, 1));
        model.files.of(0, 0).sent.round() as i64
    });
    assert_eq!(sent, [15, 56, 91, 132]);
}

#[test]
fn what_takes_long_to_arrive_does_not_hold_up_the_next() {
    // Sent at 15 and 26; the second has arrived at 126.
    let far = Parameters { arrival: 100., ..PLAIN };
    let writes = [call(Access::Write, 0, 1), call(Access::Write, 1, 1)];
    let calls = [writes[0], writes[1], call(Access::Read, 2, 0)];
    assert_eq!(ends(&far, &calls), [11, 22, 128]);
    let through = Parameters { write_behind: 0., ..far };
    assert_eq!(ends(&through, &writes), [15, 30]);
}

#[test]
fn what_is_written_arrives_later_beside_ranks_that_keep_the_other_processors() {
    // Written at 11, sent at 15; a read at the end waits until 100 later and takes 2, or 30 more
    // beside a rank that computes or waits, on a node of two processors, or 10 beside one that is
    // in a file call.
    let far = Parameters { arrival: 100., arrival_beside: 130., arrival_among: 110., ..PLAIN };
    let beside = Parameters { cores: Some(2), ..far };
    let calls = [call(Access::Write, 0, 1), call(Access::Read, 1, 0)];
    let of =
        |given: Parameters, nodes: &[u32]| ends_of(Modelled::new(&given, nodes, false), &calls);
    assert_eq!(of(beside, &[0, 0]), [11, 147]);
    // nobody else is there, or has three processors or another node, or is known to keep any
    assert_eq!(of(beside, &[0]), [11, 117]);
    assert_eq!(of(beside, &[0, 1]), [11, 117]);
    assert_eq!(of(Parameters { cores: Some(3), ..far }, &[0, 0]), [11, 117]);
    assert_eq!(of(far, &[0, 0]), [11, 117]);
    // the other one is in a file call itself, which takes 10 + 200 × 2
    let mut model = Modelled::new(&beside, &[0, 0], false);
    let long = FileCall { file: 1, ..call(Access::Read, 0, 200) };
    assert_eq!(model.end(1, 0, &long), 410);
    assert_eq!([model.end(0, 0, &calls[0]), model.end(0, 11, &calls[1])], [11, 127]);
}

/// Each rank's one call, all at the same time.
fn ends_at_once(parameters: &Parameters, nodes: &[u32], calls: &[FileCall]) -> Vec<i64> {
    let mut model = Modelled::new(parameters, nodes, false);
    (0..).zip(calls).map(|(rank, call)| model.end(rank, 0, call)).collect()
}

const THROUGH: Parameters = Parameters { write_behind: 0., ..PLAIN };
const TWO: Servers = Servers { count: 2, stripe_bytes: 50, stripe_count: 1 };

#[test]
fn one_server_without_anything_else_is_the_way_for_all() {
    let one = Parameters { servers: Some(Servers::ONE), ..THROUGH };
    let calls = [call(Access::Write, 0, 100), call(Access::Write, 100, 100)];
    assert_eq!(ends(&one, &calls), ends(&THROUGH, &calls));
    let nodes = [0, 1];
    assert_eq!(ends_at_once(&one, &nodes, &calls), ends_at_once(&THROUGH, &nodes, &calls),);
}

#[test]
fn files_lie_on_servers_of_their_own_and_stripes_side_by_side() {
    let own = |file| FileCall { file, ..call(Access::Write, 0, 100) };
    // files 0 and 1 on one server each: 110 and 400 for both; file 2 behind file 0
    let two = Parameters { servers: Some(TWO), ..THROUGH };
    let found = ends_at_once(&two, &[0, 1, 2], &[own(0), own(1), own(2)]);
    assert_eq!(found, [510, 510, 910]);
    // a file on both: half of its bytes on each
    let both = Some(Servers { stripe_count: 2, ..TWO });
    let striped = Parameters { servers: both, ..THROUGH };
    assert_eq!(ends_at_once(&striped, &[0], &[own(0)]), [110 + 200]);
}

#[test]
fn a_read_comes_from_its_servers() {
    let own = |file| FileCall { file, ..call(Access::Read, 0, 100) };
    // 10 and 100 × 2, on two servers at once
    let two = Parameters { servers: Some(TWO), ..PLAIN };
    assert_eq!(ends_at_once(&two, &[0, 1, 2], &[own(0), own(1), own(2)]), [210, 210, 410]);
}

#[test]
fn the_ranks_of_a_node_share_its_link() {
    let own = |file| FileCall { file, ..call(Access::Write, 0, 100) };
    // 5 a byte on the link are more than 4 at the server: 110 + 500
    let linked = Parameters { servers: Some(TWO), link: 5., ..THROUGH };
    assert_eq!(ends_at_once(&linked, &[0, 1], &[own(0), own(1)]), [610, 610]);
    assert_eq!(ends_at_once(&linked, &[0, 0], &[own(0), own(1)]), [610, 1110]);
}

#[test]
fn what_others_have_on_their_way_takes_no_room() {
    // 100 bytes of each node may be on their way: the second returns when they are copied,
    // though they come at 910, and waits for that where it closes the file.
    let roomy = Parameters { servers: Some(Servers::ONE), ..PLAIN };
    let mut model = Modelled::new(&roomy, &[0, 1], false);
    let write = call(Access::Write, 0, 100);
    assert_eq!([model.end(0, 0, &write), model.end(1, 0, &write)], [110, 110]);
    assert_eq!(model.end(1, 110, &call(Access::Close, 0, 0)), 910 + 10);
}

const BLOCKS: Locks =
    Locks { granularity: crate::locks::Granularity::Bytes(100), hand_over: 1000. };

#[test]
fn a_block_that_another_node_wrote_is_handed_over() {
    let locked = Parameters { locks: Some(BLOCKS), ..THROUGH };
    let halves = [call(Access::Write, 0, 50), call(Access::Write, 50, 50)];
    // 10 + 50 + 200 = 260; then 1000 to hand it over, and another 260 and 5, as a node's first
    // write that is not at the begin is one elsewhere
    assert_eq!(ends_at_once(&locked, &[0, 1], &halves), [260, 1525]);
    // ranks of one node hold it together: the second is sent behind the first
    assert_eq!(ends_at_once(&locked, &[0, 0], &halves), [260, 460]);
    // and so do other blocks
    let apart = [call(Access::Write, 0, 50), call(Access::Write, 100, 50)];
    assert_eq!(ends_at_once(&locked, &[0, 1], &apart), [260, 460]);
}

#[test]
fn a_node_reads_again_what_another_has_written_meanwhile() {
    let locked = Parameters { locks: Some(BLOCKS), ..THROUGH };
    let mut model = Modelled::new(&locked, &[0, 1], false);
    let (read, write) = (call(Access::Read, 0, 50), call(Access::Write, 0, 50));
    assert_eq!(model.end(0, 0, &read), 110);
    assert_eq!(model.end(0, 110, &read), 110 + 2 + 50);
    // the reader's lock is called back: 1000, then 260
    assert_eq!(model.end(1, 200, &write), 1460);
    // 1000 from 1500 on, and 10 + 100 from the servers
    assert_eq!(model.end(0, 1500, &read), 2610);
    assert_eq!(model.end(0, 2610, &read), 2662);
}

#[test]
fn a_service_takes_calls_on_names_one_after_the_other() {
    let served = Parameters { metadata: 30., ..PLAIN };
    let look_up = call(Access::LookUp, 0, 0);
    // 10 by itself, but the service is done at 30, 60 and 90
    assert_eq!(ends_at_once(&served, &[0, 1, 2], &[look_up; 3]), [30, 60, 90]);
    let quick = Parameters { metadata: 3., ..PLAIN };
    assert_eq!(ends_at_once(&quick, &[0, 1, 2], &[look_up; 3]), [10, 10, 10]);
    // writing and synchronising are none of its business
    let data = [call(Access::Write, 0, 0), call(Access::Synchronize, 0, 0)];
    assert_eq!(ends_at_once(&served, &[0, 1], &data), [10, 1]);
}

#[test]
fn what_client_and_servers_take_of_processors_adds_up_and_delays_no_call() {
    let processors = Processors {
        write: 7.,
        scattered_write: 3.,
        read: 5.,
        lock: 11.,
        call: 2.,
        written_byte: 0.5,
        read_byte: 0.25,
    };
    let parameters = Parameters { processors, ..PLAIN };
    let calls = [
        call(Access::Open, 0, 0),    // 2
        call(Access::Write, 0, 10),  // 7 + 10 / 2
        call(Access::Write, 50, 10), // elsewhere: 3 more
        call(Access::Lock, 0, 0),    // 11
        call(Access::Read, 0, 10),   // in the client's cache
        call(Access::Read, 80, 20),  // 5 + 20 / 4
        call(Access::Read, 99, 0),   // finds nothing
    ];
    let mut model = Modelled::new(&parameters, &[0], false);
    let worked = calls.map(|call| {
        model.end(0, 0, &call);
        model.worked()
    });
    assert_eq!(worked, [2, 14, 29, 40, 40, 50, 50]);
    assert_eq!(ends(&parameters, &calls), ends(&PLAIN, &calls));
}
