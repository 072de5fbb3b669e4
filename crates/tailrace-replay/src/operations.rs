//! What the operations of MPI do to the replay: who waits for whom.

use tailrace_trace::event::{
    Envelope, FileCall, FileKind, Flow, Operation, Progress, RequestAction, SendMode, Token,
};

use crate::collectives::{Family, InstanceId};
use crate::location::Frame;
use crate::messages::{Channel, MessageId, Messages};
use crate::requests::{Persistent, Request, Role};
use crate::steps::{Action, Address, Step, collective_file, is_shared};
use crate::world::World;

impl World<'_> {
    /// `entered`: the call holds others, and what it waits for may be known only at its end.
    #[inline]
    pub(crate) fn begin_action(
        &mut self,
        i: usize,
        step: &Step,
        operation: &Operation,
        entered: bool,
    ) -> Role {
        match step.action {
            Action::Send { to, mode } => self.send(i, to, step.bytes, mode),
            Action::Receive { from } => self.receive(i, from, entered),
            Action::Collective { communicator, flow } => {
                self.enter_collective(i, communicator, Family::Ordinary, flow)
            }
            Action::Other => self.begin_operation(i, operation, entered),
        }
    }

    fn begin_operation(&mut self, i: usize, operation: &Operation, entered: bool) -> Role {
        match operation {
            _ if operation.progress() == Progress::Persistent => Role::Nothing,
            Operation::Complete { completed, .. } if self.all_opaque_files(completed) => {
                Role::FileWait
            }
            Operation::Start { requests } => {
                self.start_persistent(i, requests);
                Role::Nothing
            }
            Operation::OneSided { kind, communicator, window, .. } => {
                self.begin_one_sided(i, kind, (*communicator, *window))
            }
            _ => self.communicate(i, operation, entered),
        }
    }

    /// Starts sends, posts receives, enters collectives.
    fn communicate(&mut self, i: usize, operation: &Operation, entered: bool) -> Role {
        match operation {
            Operation::Send { envelope, mode, .. } => {
                self.send(i, envelope.into(), envelope.bytes, *mode)
            }
            Operation::Receive { envelope, .. } => self.receive(i, envelope.into(), entered),
            Operation::SendReceive { send, receive, .. } => {
                self.send_receive(i, send, receive, entered)
            }
            Operation::Collective { communicator, flow, .. } => {
                self.enter_collective(i, *communicator, Family::Ordinary, *flow)
            }
            Operation::CommunicatorCreation { communicator, .. } => {
                match self.enter_collective(i, *communicator, Family::Ordinary, Flow::All) {
                    Role::Collective(part) => Role::Collective(part.of_creation()),
                    role => role,
                }
            }
            Operation::File(call) => self.enter_file_call(i, operation, call),
            _ => Role::Nothing,
        }
    }

    fn send(&mut self, i: usize, to: Address, bytes: u64, mode: SendMode) -> Role {
        let Ok(peer) = u32::try_from(to.peer) else { return Role::Nothing };
        let channel = Channel::new(to.communicator, self.locations[i].rank, peer, to.tag);
        let message = self.matching.messages.send(channel, self.clocks(i));
        let rendezvous = match mode {
            SendMode::Synchronous => true,
            SendMode::Buffered => false,
            _ => bytes > self.matching.eager_limit_bytes,
        };
        if mode == SendMode::Partitioned {
            return Role::Partitioned { message, rendezvous };
        }
        if rendezvous {
            return Role::Send { message };
        }
        self.matching.messages.sender_done(message);
        Role::Nothing
    }

    fn receive(&mut self, i: usize, from: Address, entered: bool) -> Role {
        let posted = self.clocks(i);
        match self.receive_channel(i, from) {
            Some(channel) => {
                Role::Receive { message: self.matching.messages.post(channel, posted) }
            }
            None if from.peer == Envelope::NOBODY => Role::Nothing,
            None if entered => {
                self.locations[i].late_post = posted;
                Role::LateReceive
            }
            None => {
                self.accounts.omissions.unresolved_receives += 1;
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
        let send = match self.send(i, send.into(), send.bytes, SendMode::Standard) {
            Role::Send { message } => Some(message),
            _ => None,
        };
        let (receive, late) = match self.receive(i, receive.into(), entered) {
            Role::Receive { message } => (Some(message), false),
            role => (None, matches!(role, Role::LateReceive)),
        };
        Role::SendReceive { send, receive, late }
    }

    /// `None` where nobody sends, or the wildcard is not resolved.
    fn receive_channel(&self, i: usize, from: Address) -> Option<Channel> {
        let peer = u32::try_from(from.peer).ok()?;
        (from.tag >= 0)
            .then(|| Channel::new(from.communicator, peer, self.locations[i].rank, from.tag))
    }

    pub(crate) fn enter_collective(
        &mut self,
        i: usize,
        communicator: u32,
        family: Family,
        flow: Flow,
    ) -> Role {
        if !is_shared(self.tables, communicator) {
            return Role::Nothing;
        }
        let location = &mut self.locations[i];
        let number = location.collectives.entry((communicator, family)).or_insert(0);
        let key = (communicator, family, *number);
        *number += 1;
        let (rank, now) = (location.rank, self.clocks(i));
        self.matching
            .collectives
            .enter(self.tables, key, rank, flow, now)
            .map_or(Role::Nothing, Role::Collective)
    }

    fn enter_file_call(&mut self, i: usize, operation: &Operation, call: &FileCall) -> Role {
        let Some(communicator) = collective_file(self.tables, operation) else {
            return Role::Nothing;
        };
        match self.enter_collective(i, communicator, Family::File, Flow::All) {
            Role::Collective(part) => Role::Collective(part.of_file(call.kind == FileKind::Read)),
            role => role,
        }
    }

    /// The collective file call that begins, and whether it reads.
    pub(crate) fn collective_file_call(
        operation: &Operation,
        role: &Role,
    ) -> Option<(InstanceId, bool)> {
        match (operation, role) {
            (Operation::File(call), Role::Collective(part)) => {
                Some((part.instance, call.kind == FileKind::Read))
            }
            _ => None,
        }
    }

    /// A file call begins inside a collective one: if all ranks entered, it had to wait for the
    /// last.
    pub(crate) fn join_file_call(&mut self, i: usize) {
        let Some((instance, _)) = self.locations[i].file_call else { return };
        if let Some(entry) = self.matching.collectives.completed_entry(instance) {
            self.locations[i].wait_for(entry);
        }
    }

    /// … and ended: it may have read for others.
    pub(crate) fn file_call_inside_ended(&mut self, i: usize) {
        let Some((instance, true)) = self.locations[i].file_call else { return };
        let now = self.clocks(i);
        self.matching.collectives.file_call_ended(instance, now);
    }

    /// An opaque collective file call: waiting until the last rank enters, then a file call of all
    /// of them.
    pub(crate) fn wait_in_file_call(&mut self, i: usize, instance: InstanceId) {
        self.matching.collectives.wait(instance, i as u32);
        let Some(entry) = self.matching.collectives.completed_entry(instance) else { return };
        let now = self.locations[i].at;
        for waiting in self.matching.collectives.take_waiting(instance) {
            let location = &mut self.locations[waiting as usize];
            location.advance(now, &mut self.accounts.timeline);
            location.wait_for(entry);
            location.waited();
            self.enter_io(waiting as usize);
        }
    }

    /// It left an opaque collective file call before the last rank entered: nobody waited for
    /// anybody.
    pub(crate) fn left_alone(&mut self, i: usize, frame: &Frame) {
        if let Role::Collective(part) = frame.role {
            self.matching.collectives.stop_waiting(part.instance, i as u32);
        }
        self.locations[i].was_alone_in_io(frame.begin, &mut self.accounts.timeline, self.ranks);
    }

    /// What began with `role` completes at the location's moment. `operation`: the call itself, as
    /// known at its end.
    pub(crate) fn complete_role(&mut self, i: usize, role: Role, operation: Option<&Operation>) {
        match role {
            Role::Nothing | Role::FileWait => {}
            Role::Send { message } | Role::Partitioned { message, rendezvous: true } => {
                self.complete_send(i, message);
            }
            Role::Partitioned { message, .. } => self.matching.messages.sender_done(message),
            Role::Receive { message } => self.complete_receive(i, message),
            Role::Collective(part) => {
                let dependency = self.matching.collectives.dependency(part);
                self.locations[i].wait_for(dependency);
                self.matching.collectives.leave(part);
            }
            Role::LateReceive => self.complete_late_receive(i, operation),
            Role::SendReceive { send, receive, late } => {
                if let Some(message) = send {
                    self.complete_send(i, message);
                }
                if let Some(message) = receive {
                    self.complete_receive(i, message);
                }
                if late {
                    self.complete_late_receive(i, operation);
                }
            }
        }
    }

    fn complete_send(&mut self, i: usize, message: MessageId) {
        if let Some(posted) = self.matching.messages.posted(message) {
            self.locations[i].wait_for(posted);
        }
        self.matching.messages.sender_done(message);
    }

    fn complete_receive(&mut self, i: usize, message: MessageId) {
        if let Some(sent) = self.matching.messages.sent(message) {
            self.locations[i].wait_for(sent);
        }
        self.matching.messages.receiver_done(message);
    }

    fn complete_late_receive(&mut self, i: usize, operation: Option<&Operation>) {
        let Some(
            Operation::Receive { envelope, .. } | Operation::SendReceive { receive: envelope, .. },
        ) = operation
        else {
            return;
        };
        match self.receive_channel(i, envelope.into()) {
            Some(channel) => {
                let message = self.matching.messages.post(channel, self.locations[i].late_post);
                self.complete_receive(i, message);
            }
            None => {
                self.accounts.omissions.unresolved_receives +=
                    u64::from(envelope.peer != Envelope::NOBODY);
            }
        }
    }

    /// What calls of other kinds do when they end.
    pub(crate) fn after(&mut self, i: usize, operation: &Operation) {
        match operation {
            Operation::Complete { completed, .. } => {
                for token in completed {
                    self.complete(i, *token);
                }
            }
            Operation::Probe { envelope } => {
                let channel = self.receive_channel(i, envelope.into());
                let sent =
                    channel.and_then(|channel| self.matching.messages.first_unreceived(channel));
                if let Some(sent) = sent {
                    self.locations[i].wait_for(sent);
                }
            }
            Operation::OnRequest { token, action } => self.act(i, *token, *action),
            Operation::OneSided { kind, communicator, window, .. } => {
                self.end_one_sided(i, kind, (*communicator, *window));
            }
            _ => {}
        }
    }

    fn start_persistent(&mut self, i: usize, requests: &[Token]) {
        for token in requests {
            let Some(Request::Persistent(persistent)) = self.request(*token) else {
                self.accounts.omissions.unknown_requests += 1;
                continue;
            };
            let Persistent { operation, active } = &mut **persistent;
            let (operation, unfinished) = (operation.clone(), active.take());
            if let Some(role) = unfinished {
                self.abandon(role, Messages::free_receive);
            }
            let role = self.communicate(i, &operation, false);
            if let Some(Request::Persistent(persistent)) = self.request(*token) {
                persistent.active = Some(role);
            }
        }
    }

    fn complete(&mut self, i: usize, token: Token) {
        match self.request(token) {
            Some(Request::Persistent(persistent)) => {
                let role = persistent.active.take();
                if let Some(role) = role {
                    self.complete_role(i, role, None);
                }
            }
            Some(_) => {
                let request = self.locations[token.location as usize].requests.remove(token.number);
                if let Some(request) = request {
                    self.complete_request(i, &request);
                }
            }
            None => self.accounts.omissions.unknown_requests += 1,
        }
    }

    fn complete_request(&mut self, i: usize, request: &Request) {
        match request {
            Request::Active(role) => self.complete_role(i, *role, None),
            Request::OpaqueFile(Some(part)) => {
                self.complete_role(i, Role::Collective(*part), None);
            }
            Request::OpaqueFile(None) | Request::Plain | Request::Persistent(_) => {}
        }
    }

    fn act(&mut self, i: usize, token: Token, action: RequestAction) {
        match action {
            RequestAction::Free => self.free(token),
            RequestAction::Cancel => {
                let role = match self.request(token) {
                    Some(Request::Active(role)) => std::mem::take(role),
                    Some(Request::Persistent(persistent)) => {
                        persistent.active.as_mut().map(std::mem::take).unwrap_or_default()
                    }
                    _ => Role::Nothing,
                };
                self.abandon(role, Messages::cancel_receive);
            }
            RequestAction::Ready => {
                let now = self.clocks(i);
                if let Some(Request::Persistent(persistent)) = self.request(token)
                    && let Some(Role::Partitioned { message, .. }) = persistent.active
                {
                    self.matching.messages.ready(message, now);
                }
            }
        }
    }

    /// What goes on goes on, but nobody waits for it any more.
    fn free(&mut self, token: Token) {
        let Some(owner) = self.locations.get_mut(token.location as usize) else { return };
        let role = match owner.requests.remove(token.number) {
            Some(Request::Active(role)) => role,
            Some(Request::Persistent(persistent)) => persistent.active.unwrap_or_default(),
            Some(Request::OpaqueFile(Some(part))) => Role::Collective(part),
            _ => Role::Nothing,
        };
        self.abandon(role, Messages::free_receive);
    }

    fn abandon(&mut self, role: Role, receive: fn(&mut Messages, MessageId)) {
        let messages = &mut self.matching.messages;
        match role {
            Role::Send { message } | Role::Partitioned { message, .. } => {
                messages.sender_done(message);
            }
            Role::Receive { message } => receive(messages, message),
            Role::Collective(part) => self.matching.collectives.leave(part),
            Role::SendReceive { send, receive: received, .. } => {
                send.into_iter().for_each(|message| messages.sender_done(message));
                received.into_iter().for_each(|message| receive(messages, message));
            }
            Role::Nothing | Role::LateReceive | Role::FileWait => {}
        }
    }

    fn request(&mut self, token: Token) -> Option<&mut Request> {
        self.locations.get_mut(token.location as usize)?.requests.get_mut(token.number)
    }

    fn all_opaque_files(&mut self, tokens: &[Token]) -> bool {
        !tokens.is_empty()
            && tokens
                .iter()
                .all(|token| matches!(self.request(*token), Some(Request::OpaqueFile(_))))
    }
}
