//! Who meets whom: the n-th send of a channel its n-th receive, the n-th collective call of a rank
//! the n-th of the others. All of a run is at hand, so each side is written down first, and asked
//! for afterwards.

use std::ops::Range;

use hashbrown::HashMap;
use tailrace_replay::Channel;
use tailrace_replay::program::Program;
use tailrace_replay::vertex::{Deed, Entry, Family, Gives, Sending, Vertex, Waits};
use tailrace_trace::Tables;

use crate::steps::MomentId;

/// An instant that others may wait for, as measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub at: i64,
    pub rank: u32,
    /// Place among the rank's vertices.
    pub place: u32,
    /// The rank waited at the same nanosecond before.
    pub tied: bool,
}

/// What a rank's role stands for.
#[derive(Clone, Copy, Debug)]
enum Role {
    /// The n-th send or receive of the channel.
    Send {
        channel: u32,
        number: u32,
    },
    /// … which is complete whoever receives it.
    Eager {
        channel: u32,
        number: u32,
    },
    /// … which is short.
    Short {
        channel: u32,
        number: u32,
    },
    Receive {
        channel: u32,
        number: u32,
    },
    Collective {
        instance: u32,
        waits: Waits,
        position: u32,
        /// It has data for the root that it waits for.
        sends: bool,
        /// It made file calls inside.
        moves: bool,
    },
}

/// A receive: its instant, the vertex that posted it, and when it was cancelled.
#[derive(Clone, Copy, Debug)]
struct Posted {
    moment: MomentId,
    place: u32,
    cancelled_at: Option<i64>,
}

#[derive(Debug, Default)]
struct Messages {
    sends: Vec<MomentId>,
    posts: Vec<Posted>,
    /// By number of the receive that of its send, and the other way around.
    send_of: Vec<Option<u32>>,
    receive_of: Vec<Option<u32>>,
}

/// The n-th call of a family on a communicator.
#[derive(Debug, Default)]
struct Instance {
    communicator: u32,
    size: u32,
    entered: u32,
    /// Those that others wait for: instant and position.
    entries: Vec<(MomentId, u32)>,
    root: Option<MomentId>,
    /// Ends of file calls that were made inside.
    file_calls: Vec<MomentId>,
}

/// What a wait is for, before it is known what of it happened in time.
#[derive(Debug)]
pub(crate) enum Dependence {
    Moments(Vec<MomentId>),
    /// All entries of that instance.
    Entries(u32),
    /// … but only if every rank has entered.
    Complete(u32),
    /// … and then for the file calls inside too: they move the rank's data.
    Served(u32),
    /// The instance's root; where that came later, another took the data on their way to it: any
    /// entry.
    Taker(u32),
    /// That instant, if the run shows that short data wait on their way.
    Perhaps(MomentId, Way),
}

/// By which short data go: all that go one way are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    Channel(u32),
    /// To the root of a collective of that communicator.
    Communicator(u32),
}

/// Instants of an instance that are waited for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Together {
    Entries,
    FileCalls,
}

pub(crate) struct Matching<'a> {
    tables: &'a Tables,
    pub moments: Vec<Moment>,
    channels: HashMap<Channel, u32>,
    messages: Vec<Messages>,
    instance_of: HashMap<(u32, Family, u32), u32>,
    instances: Vec<Instance>,
    /// By rank and number.
    roles: Vec<Vec<Option<Role>>>,
    /// By rank: its channels by its own numbers.
    own_channels: Vec<Vec<u32>>,
    /// By rank: its instants, in order of place.
    pub moments_of: Vec<Range<MomentId>>,
    positions: HashMap<u32, HashMap<u32, u32>>,
}

impl<'a> Matching<'a> {
    pub(crate) fn new(tables: &'a Tables, program: &Program) -> Self {
        let ranks = program.ranks.len();
        let mut matching = Self {
            tables,
            moments: Vec::new(),
            channels: HashMap::new(),
            messages: Vec::new(),
            instance_of: HashMap::new(),
            instances: Vec::new(),
            roles: vec![Vec::new(); ranks],
            own_channels: vec![Vec::new(); ranks],
            moments_of: Vec::with_capacity(ranks),
            positions: HashMap::new(),
        };
        for rank in 0..ranks {
            matching.write_down(program, rank);
        }
        matching.pair();
        matching
    }

    /// The instants of one rank, and which side of what they are.
    fn write_down(&mut self, program: &Program, rank: usize) {
        let known = &program.ranks[rank];
        for channel in &known.channels {
            let next = self.messages.len() as u32;
            let number = *self.channels.entry(*channel).or_insert(next);
            if number == next {
                self.messages.push(Messages::default());
            }
            self.own_channels[rank].push(number);
        }
        let mut marks: HashMap<u32, MomentId> = HashMap::new();
        let first = self.moments.len() as MomentId;
        let mut waited_at = i64::MIN;
        for (place, vertex) in known.vertices.iter().enumerate() {
            let tied = waited_at == vertex.at;
            if vertex.deed.waits() {
                waited_at = vertex.at;
            }
            let moment = Moment { at: vertex.at, rank: rank as u32, place: place as u32, tied };
            self.deed(rank, vertex, moment, &mut marks);
        }
        self.moments_of.push(first..self.moments.len() as MomentId);
    }

    fn deed(
        &mut self,
        rank: usize,
        vertex: &Vertex,
        moment: Moment,
        marks: &mut HashMap<u32, MomentId>,
    ) {
        match vertex.deed {
            Deed::Send { channel, sending } => {
                let id = self.moment(moment);
                let channel = self.own_channels[rank][channel as usize];
                let sends = &mut self.messages[channel as usize].sends;
                let number = sends.len() as u32;
                sends.push(id);
                let role = match sending {
                    Sending::InParts { rendezvous: false } => Role::Eager { channel, number },
                    Sending::Short => Role::Short { channel, number },
                    _ => Role::Send { channel, number },
                };
                if vertex.deed.takes_role() {
                    self.roles[rank].push(Some(role));
                }
            }
            Deed::Ready { role } => {
                if let Some(Role::Send { channel, number } | Role::Eager { channel, number }) =
                    self.role(rank, role)
                {
                    let id = self.moment(moment);
                    self.messages[channel as usize].sends[number as usize] = id;
                }
            }
            Deed::Post { channel } => {
                let id = self.moment(moment);
                self.post(&moment, channel, id);
            }
            Deed::Mark { thread } => {
                marks.insert(thread, self.moment(moment));
            }
            Deed::LatePost { channel, thread } => {
                let id = marks.remove(&thread).unwrap_or_else(|| self.moment(moment));
                self.moments[id as usize].at = vertex.at; // known no earlier
                self.post(&moment, channel, id);
            }
            Deed::Enter(entry) => self.enter(rank, &entry, moment),
            Deed::FileEnded { role } => {
                let known = self.roles[rank].get_mut(role as usize).and_then(Option::as_mut);
                if let Some(Role::Collective { instance, moves, .. }) = known {
                    *moves = true;
                    let instance = *instance as usize;
                    let id = self.moment(moment);
                    self.instances[instance].file_calls.push(id);
                }
            }
            Deed::Cancel { role } => {
                if let Some(Role::Receive { channel, number }) = self.role(rank, role) {
                    let posted = &mut self.messages[channel as usize].posts[number as usize];
                    posted.cancelled_at = Some(vertex.at);
                }
            }
            _ => {}
        }
    }

    fn moment(&mut self, moment: Moment) -> MomentId {
        let id = self.moments.len() as MomentId;
        self.moments.push(moment);
        id
    }

    /// A receive is posted at the vertex `at`; `moment` is when it began.
    fn post(&mut self, at: &Moment, channel: u32, moment: MomentId) {
        let rank = at.rank as usize;
        let channel = self.own_channels[rank][channel as usize];
        let posts = &mut self.messages[channel as usize].posts;
        self.roles[rank].push(Some(Role::Receive { channel, number: posts.len() as u32 }));
        posts.push(Posted { moment, place: at.place, cancelled_at: None });
    }

    fn enter(&mut self, rank: usize, entry: &Entry, moment: Moment) {
        let key = (entry.communicator, entry.family, entry.number);
        let next = self.instances.len() as u32;
        let instance = *self.instance_of.entry(key).or_insert(next);
        let position = self.position(entry.communicator, rank as u32);
        if instance == next {
            let communicator = entry.communicator;
            let size = self.tables.communicators[communicator as usize].size() as u32;
            self.instances.push(Instance { communicator, size, ..Instance::default() });
        }
        let id = self.moment(moment);
        let known = &mut self.instances[instance as usize];
        known.entered += 1;
        match entry.gives {
            Gives::Nothing => {}
            Gives::Root => known.root = Some(id),
            Gives::All | Gives::ByPosition => known.entries.push((id, position)),
        }
        let Entry { waits, gives, .. } = *entry;
        let sends = waits == Waits::Root && gives == Gives::All;
        let role = Role::Collective { instance, waits, position, sends, moves: false };
        self.roles[rank].push(Some(role));
    }

    /// The rank's place in the communicator.
    fn position(&mut self, communicator: u32, rank: u32) -> u32 {
        let entry = &self.tables.communicators[communicator as usize];
        let positions = self.positions.entry(communicator).or_insert_with(|| entry.positions());
        positions.get(&rank).copied().unwrap_or(0)
    }

    fn role(&self, rank: usize, role: u64) -> Option<Role> {
        self.roles[rank].get(role as usize).copied().flatten()
    }

    fn pair(&mut self) {
        let at = |moments: &[Moment], id: MomentId| moments[id as usize].at;
        for messages in &mut self.messages {
            messages.receive_of = vec![None; messages.sends.len()];
            messages.send_of = vec![None; messages.posts.len()];
            let mut send = 0;
            for (receive, posted) in messages.posts.iter().enumerate() {
                let Some(id) = messages.sends.get(send) else { break };
                let sent_at = at(&self.moments, *id);
                // a receive that was cancelled before anything came takes nothing
                if posted.cancelled_at.is_some_and(|cancelled| sent_at > cancelled) {
                    continue;
                }
                messages.send_of[receive] = Some(send as u32);
                messages.receive_of[send] = Some(receive as u32);
                send += 1;
            }
        }
    }

    /// What the rank waits for at a vertex.
    pub(crate) fn dependence(&self, rank: usize, place: u32, vertex: &Vertex) -> Dependence {
        match vertex.deed {
            Deed::Await { role } => match self.role(rank, role) {
                Some(Role::Collective { instance, .. }) => Dependence::Complete(instance),
                role => self.of_role(role),
            },
            Deed::Finish { role } => self.of_role(self.role(rank, role)),
            Deed::Probe { channel } => {
                let channel = self.own_channels[rank][channel as usize];
                let Messages { sends, posts, .. } = &self.messages[channel as usize];
                let posted = posts.partition_point(|posted| posted.place < place);
                Dependence::of(sends.get(posted).copied())
            }
            _ => Dependence::of(None),
        }
    }

    fn of_role(&self, role: Option<Role>) -> Dependence {
        match role {
            Some(Role::Send { channel, number }) => {
                let messages = &self.messages[channel as usize];
                let receive = messages.receive_of[number as usize];
                Dependence::of(receive.map(|number| messages.posts[number as usize].moment))
            }
            Some(Role::Short { channel, number }) => {
                let messages = &self.messages[channel as usize];
                let receive = messages.receive_of[number as usize];
                let moment = receive.map(|number| messages.posts[number as usize].moment);
                Dependence::perhaps(moment, Way::Channel(channel))
            }
            Some(Role::Receive { channel, number }) => {
                let messages = &self.messages[channel as usize];
                let send = messages.send_of[number as usize];
                Dependence::of(send.map(|number| messages.sends[number as usize]))
            }
            Some(Role::Collective { instance, sends: true, .. }) => Dependence::Taker(instance),
            // whoever writes by itself need not wait for others that do
            Some(Role::Collective { instance, waits: Waits::Writers, moves: true, .. }) => {
                Dependence::Complete(instance)
            }
            Some(Role::Collective { instance, waits, position, .. }) => {
                self.of_collective(instance, waits, position)
            }
            Some(Role::Eager { .. }) | None => Dependence::of(None),
        }
    }

    fn of_collective(&self, number: u32, waits: Waits, position: u32) -> Dependence {
        let instance = &self.instances[number as usize];
        let communicator = &self.tables.communicators[instance.communicator as usize];
        match waits {
            Waits::Nothing => Dependence::of(None),
            Waits::Root => Dependence::of(instance.root),
            Waits::PerhapsRoot => {
                Dependence::perhaps(instance.root, Way::Communicator(instance.communicator))
            }
            Waits::All if communicator.remote.is_some() => {
                let own = communicator.is_remote(position);
                Self::of_positions(instance, |other| communicator.is_remote(other) != own)
            }
            Waits::All | Waits::Both => Dependence::Entries(number),
            Waits::AllIfComplete => Dependence::Complete(number),
            Waits::Readers | Waits::Writers => Dependence::Served(number),
            Waits::Before => Self::of_positions(instance, |other| other <= position),
            Waits::Neighbours => {
                let sources = self.neighbours(instance.communicator, position);
                Self::of_positions(instance, |other| sources.contains(&other))
            }
        }
    }

    fn of_positions(instance: &Instance, wanted: impl Fn(u32) -> bool) -> Dependence {
        let entries = instance.entries.iter().filter(|(_, position)| wanted(*position));
        Dependence::Moments(entries.map(|(moment, _)| *moment).collect())
    }

    /// The positions that the one receives from.
    fn neighbours(&self, communicator: u32, position: u32) -> Vec<u32> {
        let positions = &self.positions[&communicator];
        let rank = self.tables.communicators[communicator as usize].ranks().nth(position as usize);
        let ranks = rank.and_then(|rank| self.tables.neighbours.get(&(communicator, rank)));
        let ranks = ranks.into_iter().flat_map(|ranks| ranks.iter());
        ranks.filter_map(|rank| positions.get(rank).copied()).collect()
    }

    /// In order of measured time; of instants that are one, those that others wait for first.
    pub(crate) fn together(&self, instance: u32, what: Together) -> Vec<MomentId> {
        let instance = &self.instances[instance as usize];
        let mut together = match what {
            Together::Entries => instance.entries.iter().map(|(moment, _)| *moment).collect(),
            Together::FileCalls => instance.file_calls.clone(),
        };
        together.sort_unstable_by_key(|id| {
            let Moment { at, rank, tied, .. } = self.moments[*id as usize];
            (at, tied, rank)
        });
        together
    }

    pub(crate) fn root(&self, instance: u32) -> Option<MomentId> {
        self.instances[instance as usize].root
    }

    pub(crate) fn size(&self, instance: u32) -> u32 {
        self.instances[instance as usize].size
    }
}

impl Dependence {
    fn perhaps(moment: Option<MomentId>, way: Way) -> Self {
        moment.map_or_else(|| Self::of(None), |moment| Self::Perhaps(moment, way))
    }

    fn of(moment: Option<MomentId>) -> Self {
        Self::Moments(moment.into_iter().collect())
    }
}
