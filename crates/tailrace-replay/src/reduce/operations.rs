//! What the operations of MPI are in the graph: what others may wait for, and what waits.

use tailrace_trace::event::{
    Envelope, FileCall, Flow, Operation, Progress, RequestAction, SendMode, Token,
};

use crate::graph::Channel;
use crate::graph::vertex::{Deed, Entry, Family, Gives, Sending, Waits};
use crate::reduce::load::Call;
use crate::reduce::requests::{Persistent, Role};
use crate::reduce::thread::{Finalize, Thread};
use crate::reduce::{Common, Rank};
use crate::steps::{Action, Numbers, collective_file, gives_and_waits, is_shared, of_file};

impl Rank<'_> {
    /// `entered`: the call holds others, and what it waits for may be known only at its end.
    #[allow(clippy::inline_always)] // into the loop over calls of MPI
    #[inline(always)]
    pub(crate) fn begin_action(&mut self, i: usize, call: &Call<'_>, entered: bool) -> Role {
        match call.step.action {
            Action::Send { channel, sending } => self.send(i, channel, sending),
            Action::Receive { channel } => Role::One(self.emit_role(i, Deed::Post { channel })),
            Action::Enter { entry, series } => self.enter_next(i, entry, series),
            Action::Complete => {
                let files = self.opaque_requests && self.all_opaque_files(call.tokens);
                if files { Role::FileWait } else { Role::Nothing }
            }
            Action::Nothing => Role::Nothing,
            Action::Other => self.begin_operation(i, call, entered),
        }
    }

    fn begin_operation(&mut self, i: usize, call: &Call<'_>, entered: bool) -> Role {
        let operation = call.operation;
        match operation {
            _ if operation.progress() == Progress::Persistent => Role::Nothing,
            Operation::Start { .. } => {
                self.start_persistent(i, call.tokens);
                Role::Nothing
            }
            Operation::OneSided { kind, communicator, window, .. } => {
                self.begin_one_sided(i, kind, (*communicator, *window))
            }
            Operation::Finalize => {
                let (begin, site) = (self.threads[i].at, call.site());
                self.threads[i].finalize = Some(Finalize { begin, waited: None, site });
                Role::Nothing
            }
            _ => self.communicate(i, operation, entered),
        }
    }

    /// Starts sends, posts receives, enters collectives.
    fn communicate(&mut self, i: usize, operation: &Operation, entered: bool) -> Role {
        match operation {
            Operation::Send { envelope, mode, .. } => {
                let sending = self.common.rules().sending(envelope.bytes, *mode);
                match self.channel_to(envelope) {
                    Some(channel) => self.send(i, channel, sending),
                    None => Role::Nothing,
                }
            }
            Operation::Receive { envelope, .. } => self.receive(i, envelope, entered),
            Operation::SendReceive { send, receive, .. } => {
                self.send_receive(i, send, receive, entered)
            }
            Operation::Collective { communicator, flow, bytes_sent, .. } => {
                self.enter_collective(i, *communicator, Family::Ordinary, (*flow, *bytes_sent))
            }
            Operation::CommunicatorCreation { communicator, .. } => {
                self.enter(i, *communicator, Family::Ordinary, (Gives::All, Waits::Both))
            }
            Operation::File(call) => self.enter_file_call(i, operation, call),
            _ => Role::Nothing,
        }
    }

    #[allow(clippy::inline_always)] // into the loop over calls of MPI
    #[inline(always)]
    fn send(&mut self, i: usize, channel: u32, sending: Sending) -> Role {
        let deed = Deed::Send { channel, sending };
        if deed.takes_role() {
            Role::One(self.emit_role(i, deed))
        } else {
            self.emit(i, deed);
            Role::Nothing
        }
    }

    fn receive(&mut self, i: usize, envelope: &Envelope, entered: bool) -> Role {
        match self.channel_from(envelope) {
            Some(channel) => Role::One(self.emit_role(i, Deed::Post { channel })),
            None if envelope.peer == Envelope::NOBODY => Role::Nothing,
            None if entered => {
                self.emit(i, Deed::Mark { thread: i as u32 });
                Role::LateReceive
            }
            None => {
                self.omissions.unresolved_receives += 1;
                Role::Nothing
            }
        }
    }

    fn send_receive(
        &mut self,
        i: usize,
        send: &Envelope,
        receive: &Envelope,
        entered: bool,
    ) -> Role {
        let sending = self.common.rules().sending(send.bytes, SendMode::Standard);
        let channel = self.channel_to(send);
        let send = channel.map_or(Role::Nothing, |channel| self.send(i, channel, sending));
        match (send, self.receive(i, receive, entered)) {
            (Role::One(send), Role::One(_)) => Role::Two(send),
            (Role::One(send), Role::LateReceive) => Role::SendAndLateReceive(send),
            (send, Role::Nothing) => send,
            (_, receive) => receive,
        }
    }

    fn channel_to(&mut self, envelope: &Envelope) -> Option<u32> {
        Channel::to(envelope, self.number).map(|channel| self.channel(channel))
    }

    /// `None` where nobody sends, or the wildcard is not resolved.
    fn channel_from(&mut self, envelope: &Envelope) -> Option<u32> {
        Channel::from(envelope, self.number).map(|channel| self.channel(channel))
    }

    pub(crate) fn channel(&mut self, channel: Channel) -> u32 {
        self.numbers().channel(channel)
    }

    pub(crate) fn enter_collective(
        &mut self,
        i: usize,
        communicator: u32,
        family: Family,
        (flow, bytes): (Flow, u64),
    ) -> Role {
        let Common { order, eager_limit_bytes, .. } = *self.common;
        let is_long = bytes > eager_limit_bytes;
        let roles = gives_and_waits(order, flow, self.number, is_long);
        self.enter(i, communicator, family, roles)
    }

    fn enter(
        &mut self,
        i: usize,
        communicator: u32,
        family: Family,
        (gives, waits): (Gives, Waits),
    ) -> Role {
        if !is_shared(self.common.tables, communicator) {
            return Role::Nothing;
        }
        let series = self.numbers().series((communicator, family));
        self.enter_next(i, Entry { communicator, number: 0, family, gives, waits }, series)
    }

    /// … the next collective of a series.
    #[allow(clippy::inline_always)] // into the loop over calls of MPI
    #[inline(always)]
    fn enter_next(&mut self, i: usize, entry: Entry, series: u32) -> Role {
        let number = self.threads[i].next_of_series(series);
        Role::One(self.emit_role(i, Deed::Enter(Entry { number, ..entry })))
    }

    fn enter_file_call(&mut self, i: usize, operation: &Operation, call: &FileCall) -> Role {
        match collective_file(self.common.tables, operation) {
            Some(communicator) => self.enter(i, communicator, Family::File, of_file(call)),
            None => Role::Nothing,
        }
    }

    /// The thread is done with the role; the rank waits for it, if it is its main thread.
    #[allow(clippy::inline_always)] // into the loop over calls of MPI
    #[inline(always)]
    pub(crate) fn finish_role(&mut self, i: usize, role: u64) {
        if !self.threads[i].main {
            self.emit(i, Deed::Leave { role });
        } else if !self.finishes_too(i, role) {
            self.emit(i, Deed::Finish { role });
        }
    }

    /// What began with `role` completes at the thread's moment. `operation`: the call itself, as
    /// known at its end.
    #[allow(clippy::inline_always)] // into the loop over calls of MPI
    #[inline(always)]
    pub(crate) fn complete_role(&mut self, i: usize, role: Role, operation: Option<&Operation>) {
        match role {
            Role::Nothing | Role::FileWait => {}
            Role::One(role) => self.finish_role(i, role),
            Role::Two(send) => {
                self.finish_role(i, send);
                self.finish_role(i, send + 1);
            }
            Role::LateReceive => self.complete_late_receive(i, operation),
            Role::SendAndLateReceive(send) => {
                self.finish_role(i, send);
                self.complete_late_receive(i, operation);
            }
        }
    }

    fn complete_late_receive(&mut self, i: usize, operation: Option<&Operation>) {
        let Some(
            Operation::Receive { envelope, .. } | Operation::SendReceive { receive: envelope, .. },
        ) = operation
        else {
            return;
        };
        match self.channel_from(envelope) {
            Some(channel) => {
                let role = self.emit_role(i, Deed::LatePost { channel, thread: i as u32 });
                self.finish_role(i, role);
            }
            None => {
                self.omissions.unresolved_receives += u64::from(envelope.peer != Envelope::NOBODY);
            }
        }
    }

    /// What calls of other kinds do when they end.
    pub(crate) fn after(&mut self, i: usize, operation: &Operation, tokens: &[Token]) {
        match operation {
            Operation::Probe { envelope } => {
                if let (Some(channel), true) = (self.channel_from(envelope), self.threads[i].main) {
                    self.emit(i, Deed::Probe { channel });
                }
            }
            Operation::OnRequest { action, .. } => {
                for token in tokens {
                    self.act(i, *token, *action);
                }
            }
            Operation::OneSided { kind, communicator, window, .. } => {
                self.end_one_sided(i, kind, (*communicator, *window));
            }
            Operation::Finalize => {
                let Thread { since, at, finalize, .. } = &mut self.threads[i];
                if let Some(finalize) = finalize {
                    finalize.waited = Some((*since, *at));
                }
            }
            _ => {}
        }
    }

    fn start_persistent(&mut self, i: usize, requests: &[Token]) {
        for token in requests {
            let Some(persistent) = self.persistent(*token) else {
                self.omissions.unknown_requests += 1;
                continue;
            };
            let Persistent { operation, active } = persistent;
            let (operation, unfinished) = (operation.clone(), active.take());
            if let Some(role) = unfinished {
                self.abandon(i, role, |role| Deed::Free { role });
            }
            let role = self.communicate(i, &operation, false);
            if let Some(persistent) = self.persistent(*token) {
                persistent.active = Some(role);
            }
        }
    }

    /// A request is over.
    #[allow(clippy::inline_always)] // into the loop over calls of MPI
    #[inline(always)]
    pub(crate) fn complete(&mut self, i: usize, token: Token) {
        let Some(owner) = self.owner(token) else {
            self.omissions.unknown_requests += 1;
            return;
        };
        match self.threads[owner].requests.complete(token.number) {
            Some(role) => self.complete_role(i, role, None),
            None => self.omissions.unknown_requests += 1,
        }
    }

    fn act(&mut self, i: usize, token: Token, action: RequestAction) {
        match action {
            RequestAction::Free => self.free(i, token),
            RequestAction::Cancel if !self.common.may_cancel => {}
            RequestAction::Cancel => {
                let owner = self.owner(token);
                let role = owner.map(|owner| self.threads[owner].requests.cancel(token.number));
                let role = role.unwrap_or_default();
                self.abandon(i, role, |role| Deed::Cancel { role });
            }
            RequestAction::Ready => {
                if let Some(persistent) = self.persistent(token)
                    && let Some(Role::One(role)) = persistent.active
                {
                    self.emit(i, Deed::Ready { role });
                }
            }
        }
    }

    /// What goes on goes on, but nobody waits for it any more.
    fn free(&mut self, i: usize, token: Token) {
        let owner = self.owner(token);
        let role = owner.map(|owner| self.threads[owner].requests.free(token.number));
        let role = role.unwrap_or_default();
        self.abandon(i, role, |role| Deed::Free { role });
    }

    fn abandon(&mut self, i: usize, role: Role, deed: fn(u64) -> Deed) {
        let roles = match role {
            Role::One(role) | Role::SendAndLateReceive(role) => [Some(role), None],
            Role::Two(send) => [Some(send), Some(send + 1)],
            Role::Nothing | Role::LateReceive | Role::FileWait => [None, None],
        };
        for role in roles.into_iter().flatten() {
            let deed = deed(role);
            self.emit(i, deed);
            if matches!(deed, Deed::Cancel { .. }) {
                self.slab.cuts.push(self.moment);
            }
        }
    }

    /// A thread of this rank, and the number of the request there.
    #[allow(clippy::inline_always)] // into the loop over calls of MPI
    #[inline(always)]
    fn owner(&self, token: Token) -> Option<usize> {
        if self.locations[0] == token.location as usize {
            return Some(0);
        }
        self.locations.iter().position(|location| *location == token.location as usize)
    }

    fn persistent(&mut self, token: Token) -> Option<&mut Persistent> {
        let owner = self.owner(token)?;
        self.threads[owner].requests.persistent(token.number)
    }

    fn all_opaque_files(&self, tokens: &[Token]) -> bool {
        let is_file = |token: &Token| {
            let owner = self.owner(*token);
            owner.is_some_and(|owner| self.threads[owner].requests.is_opaque_file(token.number))
        };
        !tokens.is_empty() && tokens.iter().all(is_file)
    }
}
