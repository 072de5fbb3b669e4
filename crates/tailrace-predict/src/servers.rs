//! The ways between nodes and servers: a link of each node, and a queue at each server.
//!
//! Links and servers go on at their own pace: bytes have come when the slowest of those that they
//! pass has had its part of them. So what waits at one place leaves the others free meanwhile.
//!
//! A link may be shaped by a token bucket: so many bytes of what it stood idle it makes up for.

use std::collections::VecDeque;

use crate::by_file::place;

/// How files are laid out over servers, of which each has its own queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Servers {
    /// 0: each node is its own.
    pub count: u32,
    pub stripe_bytes: u64,
    /// So many servers a file lies on, the first of which is its number modulo `count`.
    pub stripe_count: u32,
}

impl Servers {
    pub const ONE: Self = Self { count: 1, stripe_bytes: u64::MAX >> 1, stripe_count: 1 };

    pub(crate) fn lanes(&self) -> i64 {
        i64::from(self.stripe_count.clamp(1, self.count.max(1)))
    }

    /// Which of a file's objects, one a server, have bytes between `begin` and `end`: the first,
    /// and how many, in a circle.
    pub(crate) fn objects(&self, begin: i64, end: i64) -> (i64, i64) {
        if self.lanes() == 1 {
            return (0, 1);
        }
        let (first, last) = self.stripes(begin, end);
        let touched = last.saturating_sub(first).saturating_add(1);
        (first.rem_euclid(self.lanes()), touched.min(self.lanes()))
    }

    fn stripes(&self, begin: i64, end: i64) -> (i64, i64) {
        let stripe = self.stripe_bytes.clamp(1, Self::ONE.stripe_bytes) as i64;
        (begin.div_euclid(stripe), (end.max(begin.saturating_add(1)) - 1).div_euclid(stripe))
    }

    /// The one server that has all of it, where it is plain that its share is 1: sums of whole
    /// numbers are exact up to there.
    fn only(self, file: u32, begin: i64, end: i64) -> Option<u32> {
        let exact = 0..1 << (f64::MANTISSA_DIGITS - 1);
        let stripe = i64::try_from(self.stripe_bytes).unwrap_or(i64::MAX);
        let is_plain = self.lanes() == 1 && [begin, end, stripe].iter().all(|n| exact.contains(n));
        is_plain.then(|| file % self.count.max(1))
    }

    /// By server that has some: its share of the bytes between `begin` and `end`.
    fn shares(self, file: u32, begin: i64, end: i64) -> impl Iterator<Item = (u32, f64)> {
        let (first, last) = self.stripes(begin, end);
        let (stripe, lanes) = (self.stripe_bytes.max(1) as f64, self.lanes());
        let all = end.saturating_sub(begin).max(1) as f64;
        let (before, behind) = if first == last {
            (0., stripe - all)
        } else {
            let into = begin.rem_euclid(self.stripe_bytes.max(1) as i64);
            (into as f64, (last + 1) as f64 * stripe - end as f64)
        };
        let count = u64::from(self.count.max(1));
        let touched = (last - first + 1).min(lanes);
        (0..touched).map(move |place| {
            let stripes = (last - first - place) / lanes + 1;
            let ends_there = (last - first - place) % lanes == 0;
            let cut = if place == 0 { before } else { 0. } + if ends_there { behind } else { 0. };
            let lane = (first + place).rem_euclid(lanes) as u64;
            let server = (u64::from(file) + lane) % count;
            (server as u32, (stripes as f64 * stripe - cut) / all)
        })
    }
}

/// What is to be carried: so many bytes of a file, which lie between `begin` and `end`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub node: u32,
    pub file: u32,
    pub begin: i64,
    pub end: i64,
    pub bytes: f64,
    /// What it takes beyond its bytes at each server; and whether it is one request, or many, of
    /// which each goes to one server.
    pub request: f64,
    pub is_one: bool,
}

/// In one direction.
pub(crate) struct Ways {
    servers: Servers,
    /// Nanoseconds a byte, of a link and of a server.
    link: f64,
    byte: f64,
    /// Bytes that go at once where nothing went before.
    bucket: f64,
    /// Until when each is busy, by server and by node.
    free: Vec<f64>,
    links: Vec<f64>,
}

impl Ways {
    pub(crate) fn new(servers: Servers, link: f64, byte: f64, bucket: f64) -> Self {
        let free = vec![0.; servers.count.max(1) as usize];
        Self { servers, link, byte, bucket, free, links: Vec::new() }
    }

    /// When all of it has come that may leave at `from`, and does so `late`.
    pub(crate) fn carry(&mut self, load: &Load, from: f64, late: f64) -> f64 {
        let Load { node, file, begin, end, bytes, .. } = *load;
        let mut come = from;
        if self.link > 0. {
            let link = place(&mut self.links, node);
            come = pass(link, self.link, self.bucket, (0., bytes), from, late);
        }
        if self.servers.count <= 1 {
            let server = if self.servers.count == 0 { node } else { 0 };
            return come.max(self.serve(server, load.request, bytes, from, late));
        }
        if let Some(server) = self.servers.only(file, begin, end) {
            return come.max(self.serve(server, load.request, bytes, from, late));
        }
        let requests = if load.is_one { 1. } else { self.servers.objects(begin, end).1 as f64 };
        for (server, share) in self.servers.shares(file, begin, end) {
            let request = load.request / requests;
            come = come.max(self.serve(server, request, share * bytes, from, late));
        }
        come
    }

    fn serve(&mut self, server: u32, request: f64, bytes: f64, from: f64, late: f64) -> f64 {
        let free = place(&mut self.free, server);
        pass(free, self.byte, self.bucket, (request, bytes), from, late)
    }
}

/// When a request of so many bytes has passed a place that is `free` from then on, takes `byte` for
/// each, and has a bucket that was filled while it stood idle.
fn pass(
    free: &mut f64,
    byte: f64,
    bucket: f64,
    (request, bytes): (f64, f64),
    from: f64,
    late: f64,
) -> f64 {
    let (time, filled) = (bytes * byte, bucket * byte);
    *free = free.max(from - filled) + request + time;
    free.max(from + late + request + (time - filled).max(0.))
}

/// What a node, or a node's file, has on its way, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Room {
    writes: VecDeque<(f64, f64, f64)>,
    bytes: f64,
    last: f64,
}

impl Room {
    /// When no more than `most` bytes are on their way: more were put there at `now`, and will have
    /// come at `end`.
    pub(crate) fn put(&mut self, bytes: f64, most: f64, now: f64, end: f64) -> f64 {
        while let Some(oldest) = self.writes.front().filter(|(_, end, _)| *end <= now) {
            self.bytes -= oldest.2;
            self.writes.pop_front();
        }
        let end = end.max(self.last);
        self.writes.push_back((now.max(self.last).min(end), end, bytes));
        self.last = end;
        self.bytes += bytes;
        while let Some(oldest) = self.writes.front().filter(|oldest| self.bytes - oldest.2 > most) {
            self.bytes -= oldest.2;
            self.writes.pop_front();
        }
        match self.writes.front() {
            Some((begin, end, bytes)) if self.bytes > most => {
                let still = (most - (self.bytes - bytes)) / bytes;
                end - still * (end - begin)
            }
            _ => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR: Servers = Servers { count: 4, stripe_bytes: 10, stripe_count: 3 };

    fn shares(file: u32, begin: i64, end: i64) -> Vec<(u32, i64)> {
        let bytes = (end - begin) as f64;
        let whole = |(server, share): (u32, f64)| (server, (share * bytes).round() as i64);
        FOUR.shares(file, begin, end).map(whole).collect()
    }

    #[test]
    fn a_file_lies_on_so_many_servers_from_its_first_on() {
        assert_eq!(shares(0, 0, 10), [(0, 10)]);
        assert_eq!(shares(0, 3, 7), [(0, 4)]);
        // stripes 0 to 4, of which the fourth and fifth are on the first two servers again, less
        // the 5 bytes before and the 3 behind
        assert_eq!(shares(0, 5, 47), [(0, 15), (1, 17), (2, 10)]);
        // file 3 begins at server 3 and goes on at 0
        assert_eq!(shares(3, 0, 30), [(3, 10), (0, 10), (1, 10)]);
        assert_eq!(FOUR.objects(25, 35), (2, 2));
        assert_eq!(FOUR.objects(0, 1000), (0, 3));
    }

    #[test]
    fn all_of_a_file_on_one_server_is_there() {
        let one = Servers { stripe_count: 1, ..FOUR };
        for (begin, end) in [(0, 10), (3, 7), (5, 47), (13, 13), (1 << 40, (1 << 40) + 9999)] {
            let server = one.only(6, begin, end).unwrap();
            assert_eq!(one.shares(6, begin, end).collect::<Vec<_>>(), [(server, 1.)]);
        }
        for (begin, end) in [(-1, 5), (0, i64::MAX)] {
            assert_eq!(one.only(6, begin, end), None);
        }
        assert_eq!(FOUR.only(6, 0, 10), None);
    }

    fn load(node: u32, begin: i64, end: i64) -> Load {
        let bytes = (end - begin) as f64;
        Load { node, file: 0, begin, end, bytes, request: 5., is_one: true }
    }

    #[test]
    fn servers_work_side_by_side() {
        let mut ways = Ways::new(FOUR, 0., 2., 0.);
        // 10 bytes each on three servers: 5 + 10 × 2
        assert!((ways.carry(&load(0, 0, 30), 100., 0.) - 125.).abs() < 1e-9);
        // the first is busy until 125, the fourth not
        assert!((ways.carry(&load(0, 30, 40), 100., 0.) - 150.).abs() < 1e-9);
        let other = Load { file: 3, ..load(0, 0, 10) };
        assert!((ways.carry(&other, 100., 0.) - 125.).abs() < 1e-9);
    }

    #[test]
    fn a_bucket_makes_up_for_idle_moments() {
        let mut ways = Ways::new(Servers::ONE, 0., 2., 10.);
        let mut at = |from| ways.carry(&load(0, 0, 10), from, 0.);
        // All ten bytes are in the bucket, so that the request's 5 alone are left; for the next
        // nothing is: 105 + 25. In the 50 after that it fills again.
        assert!((at(100.) - 105.).abs() < 1e-9);
        assert!((at(105.) - 130.).abs() < 1e-9);
        assert!((at(180.) - 185.).abs() < 1e-9);
    }

    #[test]
    fn a_nodes_bytes_queue_at_its_link() {
        let mut ways = Ways::new(FOUR, 4., 2., 0.);
        // 30 bytes take 120 on the link, longer than 25 at the servers
        assert!((ways.carry(&load(0, 0, 30), 0., 0.) - 120.).abs() < 1e-9);
        assert!((ways.carry(&load(0, 0, 30), 0., 0.) - 240.).abs() < 1e-9);
        // another node's link is free
        assert!((ways.carry(&load(1, 0, 30), 0., 0.) - 120.).abs() < 1e-9);
    }

    #[test]
    fn each_node_may_be_its_own_server() {
        let mut ways = Ways::new(Servers { count: 0, ..Servers::ONE }, 0., 2., 0.);
        for node in [0, 7] {
            assert!((ways.carry(&load(node, 0, 10), 0., 0.) - 25.).abs() < 1e-9);
        }
        assert!((ways.carry(&load(7, 0, 10), 0., 0.) - 50.).abs() < 1e-9);
    }

    #[test]
    fn what_leaves_late_does_not_hold_up_others() {
        let mut ways = Ways::new(Servers::ONE, 0., 2., 0.);
        assert!((ways.carry(&load(0, 0, 10), 0., 1000.) - 1025.).abs() < 1e-9);
        assert!((ways.carry(&load(1, 0, 10), 0., 0.) - 50.).abs() < 1e-9);
    }

    #[test]
    fn a_node_has_room_when_enough_of_its_own_bytes_have_come() {
        let mut room = Room::default();
        // 100 bytes come from 10 on until 110; a second write until 210, and 50 may be left
        assert!((room.put(100., 100., 10., 110.) - 10.).abs() < 1e-9);
        assert!((room.put(100., 50., 20., 210.) - 160.).abs() < 1e-9);
        // all but the last ten of them have come at 210
        assert!((room.put(10., 0., 300., 310.) - 310.).abs() < 1e-9);
    }
}
