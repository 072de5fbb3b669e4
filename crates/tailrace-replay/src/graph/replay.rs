//! Replaying: a rank goes on until it waits for one that has to go on first.

use crate::graph::chains::Chain;
use crate::graph::replayed::Front;
use crate::graph::roles::Role;
use crate::graph::vertex::{Deed, Vertex};
use crate::graph::{Around, Graph};

/// How far a rank's replay came.
#[derive(Clone, Copy)]
pub(crate) enum Reached {
    /// All that there is.
    Everything,
    /// It waits for that rank.
    Needs(u32),
    /// It waits for others, or for what there is not yet.
    Missing,
}

impl Graph<'_> {
    /// Replays all that there is, as far as it depends on nothing that there is not.
    pub(crate) fn replay(&mut self) {
        // Whoever waits for others in turn gets on each time that one of them does. That somebody
        // does not come is asked when nobody gets on otherwise: mostly all come.
        self.around.is_patient = self.around.guarded;
        loop {
            let (mut got_on, mut is_over) = (false, true);
            for rank in 0..self.chains.len() {
                if self.chains[rank].waiting() > 0 {
                    got_on |= self.replay_rank(rank);
                    is_over &= self.chains[rank].waiting() == 0;
                }
            }
            if is_over || !got_on && !self.around.is_patient {
                return;
            }
            self.around.is_patient = got_on && self.around.guarded;
        }
    }

    /// Replays a rank, and those that it waits for, as far as that goes; whether any got on.
    fn replay_rank(&mut self, rank: usize) -> bool {
        let (reached, got_on) = self.advance(rank);
        match reached {
            Reached::Needs(_) => self.replay_needed(rank, reached) || got_on,
            Reached::Missing | Reached::Everything => got_on,
        }
    }

    /// … those first that a rank waits for which `reached` where it is.
    #[inline(never)]
    fn replay_needed(&mut self, mut rank: usize, mut reached: Reached) -> bool {
        let (mut gave_up, mut got_on) = (None, false);
        self.under_way[rank] = true;
        loop {
            rank = match reached {
                Reached::Needs(other)
                    if !self.under_way[other as usize] && gave_up != Some(other as usize) =>
                {
                    self.stack.push(rank);
                    self.under_way[other as usize] = true;
                    other as usize
                }
                Reached::Needs(_) | Reached::Missing | Reached::Everything => {
                    self.under_way[rank] = false;
                    gave_up = Some(rank);
                    let Some(before) = self.stack.pop() else { return got_on };
                    before
                }
            };
            let goes_on;
            (reached, goes_on) = self.advance(rank);
            if goes_on {
                (gave_up, got_on) = (None, true);
            }
        }
    }

    /// Replays a rank alone; how far, and whether it got on.
    #[allow(clippy::inline_always)] // into the two loops over ranks
    #[inline(always)]
    fn advance(&mut self, rank: usize) -> (Reached, bool) {
        let chain = &mut self.chains[rank];
        let before = (chain.replayed, chain.part);
        let reached = self.around.advance(chain, &self.vertices[rank], false);
        (reached, (chain.replayed, chain.part) != before)
    }

    /// Lets the earliest wait that cannot go on, by measured time, wait for what is known alone.
    pub(crate) fn force(&mut self) {
        let waiting = self.chains.iter().filter(|chain| chain.waiting() > 0);
        let due = |chain: &Chain| chain.due(&self.vertices[chain.rank as usize][chain.replayed]);
        let next = waiting.min_by_key(|chain| (due(chain), chain.rank));
        if let Some(rank) = next.map(|chain| chain.rank) {
            let rank = rank as usize;
            self.around.advance(&mut self.chains[rank], &self.vertices[rank], true);
            self.replay();
        }
    }

    /// What was sent to receives by the time at which they are cancelled is known.
    pub(crate) fn cancel(&mut self) {
        let Self { chains, around, .. } = self;
        for (rank, role, at) in around.cancelled.drain(..) {
            match chains[rank].roles.remove(role) {
                Some(Role::Send(message) | Role::Eager(message)) => {
                    around.messages.sender_done(message);
                }
                Some(Role::Receive(message)) => around.messages.cancel_receive(message, at),
                Some(Role::Collective(part)) => around.collectives.leave(&part),
                Some(Role::Nothing) | None => {}
            }
        }
    }
}

impl Around<'_> {
    /// Replays a rank as far as that goes; `force`: its next wait is for what is known alone.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn advance(&mut self, chain: &mut Chain, vertices: &[Vertex], mut force: bool) -> Reached {
        let vertices = &vertices[..chain.until];
        while let Some(vertex) = vertices.get(chain.replayed) {
            let why = match vertex.deed {
                Deed::Send { .. } | Deed::Post { .. } => {
                    chain.replayed += self.exchange(chain, &vertices[chain.replayed..]);
                    continue;
                }
                Deed::Meet(entry) => self.meet(chain, vertex, &entry, force),
                Deed::Finish { role } => self.finish_all(chain, vertex, role..role + 1, force),
                Deed::FinishAll { first, number } => {
                    self.finish_all(chain, vertex, first..first + u64::from(number), force)
                }
                Deed::Await { role } => self.wait_inside(chain, vertex, role, force),
                Deed::Granted { .. } | Deed::Probe { .. } => self.pass_wait(chain, vertex, force),
                deed => {
                    match deed {
                        Deed::Enter(entry) => self.enter(chain, vertex, &entry),
                        Deed::FileEnded { role } => self.file_call_ended(chain, vertex, role),
                        _ => self.pass(chain, vertex),
                    }
                    chain.replayed += 1;
                    continue;
                }
            };
            if let Some(why) = why {
                self.fronts[chain.rank as usize] = Front::of_wait(vertex);
                return why;
            }
            force = false;
            chain.replayed += 1;
        }
        self.fronts[chain.rank as usize] = Front::after(self.horizon);
        Reached::Everything
    }
}
