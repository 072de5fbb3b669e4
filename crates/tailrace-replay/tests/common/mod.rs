//! Programs of timed events as text: see `tests/replay/README.md` for the language.

#![allow(dead_code)] // each test uses a part

use std::collections::HashMap;

use tailrace_replay::analysis::{Analysis, Clocks};
use tailrace_trace::MemoryTrace;
use tailrace_trace::event::{
    Envelope, FileCall, FileKind, Flow, Layer, OneSided, Operation, Progress, RequestAction,
    SendMode, Token,
};
use tailrace_trace::places::{CallPath, Frame};
use tailrace_trace::tables::{Communicator, Location, Wait, Window};

/// A program and what is expected of it.
pub(crate) struct Case {
    pub trace: MemoryTrace,
    pub options: tailrace_replay::Options,
    /// Word by word: `net=…`, or `rank=0 useful=…`.
    pub expected: Vec<HashMap<String, i64>>,
    pub warnings: Vec<String>,
    requests: HashMap<(usize, String), Token>,
    numbers: Vec<u64>,
    open: Vec<Vec<(u16, Operation)>>,
}

type Words<'a> = HashMap<&'a str, &'a str>;

impl Case {
    pub(crate) fn parse(text: &str) -> Self {
        let mut case = Self {
            trace: MemoryTrace::default(),
            options: tailrace_replay::Options { threads: 1, ..Default::default() },
            expected: Vec::new(),
            warnings: Vec::new(),
            requests: HashMap::new(),
            numbers: Vec::new(),
            open: Vec::new(),
        };
        text.lines()
            .map(|line| line.split('#').next().unwrap_or("").trim())
            .for_each(|line| case.line(line));
        case.close();
        case
    }

    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            ["ranks", count] => self.ranks(count.parse().unwrap()),
            ["runtime", end] => self.runtime(end.parse().unwrap()),
            ["thread", "rank", rank] => {
                let rank = rank.parse().unwrap();
                let end_ns = self.trace.tables.window.unwrap().end_ns;
                self.trace.location(Location { rank, thread: 1, end_ns, ..Location::default() });
                self.numbers.push(0);
                self.open.push(Vec::new());
            }
            ["waits", location, stretches @ ..] => {
                let waits = stretches.iter().map(|words| wait(words)).collect();
                self.trace.tables.locations[location.parse::<usize>().unwrap()].waits = Some(waits);
            }
            ["communicator", groups @ ..] => self.communicator(groups),
            ["neighbours", communicator, rank, sources @ ..] => self.trace.neighbours(
                communicator.parse().unwrap(),
                rank.parse().unwrap(),
                &sources.iter().map(|source| source.parse().unwrap()).collect::<Vec<_>>(),
            ),
            ["from", functions @ ..] => self.from(functions),
            ["option", option] => self.option(option),
            ["expect", facts @ ..] => {
                let fact =
                    |word: &&str| word.split_once('=').map(|(k, v)| (k.to_owned(), value(v)));
                self.expected.push(facts.iter().map(|word| fact(word).unwrap()).collect());
            }
            ["warns", code] => self.warnings.push((*code).to_owned()),
            [location, at, "}"] => self.leave(location.parse().unwrap(), at.parse().unwrap()),
            [location, begin, "{", name, rest @ ..] => {
                let (location, begin) = (location.parse().unwrap(), begin.parse().unwrap());
                let (function, operation) = self.call(location, name, rest);
                self.trace.enter(location, function, begin, operation.clone());
                self.open[location].push((function, operation));
            }
            [location, begin, end, name, rest @ ..] => {
                let location = location.parse().unwrap();
                let (function, operation) = self.call(location, name, rest);
                self.trace.call(
                    location,
                    function,
                    begin.parse().unwrap(),
                    end.parse().unwrap(),
                    operation,
                );
            }
            _ => panic!("cannot read: {line}"),
        }
    }

    fn ranks(&mut self, count: u32) {
        self.trace = MemoryTrace::new(count);
        self.numbers = vec![0; count as usize];
        self.open = vec![Vec::new(); count as usize];
    }

    fn runtime(&mut self, end_ns: i64) {
        self.trace.tables.window = Some(Window { begin_ns: 0, end_ns });
    }

    fn close(&mut self) {
        let end = self.trace.tables.window.expect("a case states its run time").end_ns;
        self.trace.tables.locations.iter_mut().for_each(|location| location.end_ns = end);
    }

    /// `0 1 2`, or `0 1 | 2 3` for an intercommunicator.
    fn communicator(&mut self, groups: &[&str]) {
        let numbers =
            |words: &[&str]| words.iter().map(|word| word.parse().unwrap()).collect::<Vec<u32>>();
        match groups.iter().position(|word| *word == "|") {
            None => drop(self.trace.communicator(&numbers(groups))),
            Some(bar) => self.trace.tables.communicators.push(Communicator {
                identity: self.trace.tables.communicators.len() as u64,
                members: numbers(&groups[..bar]).into(),
                remote: Some(numbers(&groups[bar + 1..]).into()),
            }),
        }
    }

    /// The innermost first; none: from where is not known.
    fn from(&mut self, functions: &[&str]) {
        let places = &mut self.trace.tables.places;
        let first = places.frames.len() as u32;
        let frame = |name: &&str| Frame { function: (*name).to_owned(), ..Frame::default() };
        places.frames.extend(functions.iter().map(frame));
        let frames = (first..places.frames.len() as u32).collect();
        places.paths.push(CallPath { frames, cut: false });
        self.trace.place = if functions.is_empty() { 0 } else { places.paths.len() as u32 };
    }

    fn option(&mut self, option: &str) {
        match option.split_once('=').unwrap() {
            ("collectives", "all") => {
                self.options.collectives = tailrace_replay::CollectiveOrder::All;
            }
            ("eager", bytes) => self.options.eager_limit_bytes = bytes.parse().unwrap(),
            _ => panic!("unknown option {option}"),
        }
    }

    fn leave(&mut self, location: usize, at: i64) {
        let (function, operation) = self.open[location].pop().expect("a call is open");
        self.trace.leave(location, function, at, operation);
    }

    fn call(&mut self, location: usize, name: &str, rest: &[&str]) -> (u16, Operation) {
        let words: Words = rest.iter().filter_map(|word| word.split_once('=')).collect();
        let plain: Vec<&str> = rest.iter().copied().filter(|word| !word.contains('=')).collect();
        let operation = self.operation(location, name, &words, &plain);
        if operation.progress() != Progress::Blocking {
            let token = Token { location: location as u32, number: self.numbers[location] };
            self.numbers[location] += 1;
            self.requests.insert((location, words["as"].to_owned()), token);
        }
        (self.trace.function(name, layer(name, &operation)), operation)
    }

    fn operation(
        &mut self,
        location: usize,
        name: &str,
        words: &Words,
        plain: &[&str],
    ) -> Operation {
        let progress = match (words.contains_key("as"), plain.contains(&"persistent")) {
            (_, true) => Progress::Persistent,
            (true, _) => Progress::Started,
            _ => Progress::Blocking,
        };
        let communicator = number(words, "comm", 0) as u32;
        match name {
            "send" => {
                Operation::Send { envelope: envelope(words, "to"), mode: mode(plain), progress }
            }
            "receive" => Operation::Receive {
                envelope: envelope(words, "from"),
                wildcard: plain.contains(&"any"),
                progress,
            },
            "sendreceive" => Operation::SendReceive {
                send: envelope(words, "to"),
                receive: envelope(words, "from"),
                progress,
            },
            "probe" => Operation::Probe { envelope: envelope(words, "from") },
            "wait" => Operation::Complete { completed: self.tokens(location, plain), test: false },
            "start" => Operation::Start { requests: self.tokens(location, plain) },
            "cancel" | "free" | "ready" => Operation::OnRequest {
                token: self.tokens(location, plain)[0],
                action: match name {
                    "cancel" => RequestAction::Cancel,
                    "free" => RequestAction::Free,
                    _ => RequestAction::Ready,
                },
            },
            "all" | "fromroot" | "toroot" | "prefix" | "neighbours" => Operation::Collective {
                communicator,
                flow: flow(name, number(words, "root", 0) as i32),
                bytes_sent: number(words, "bytes", 0) as u64,
                bytes_received: 0,
                progress,
            },
            "dup" => Operation::CommunicatorCreation { communicator, progress },
            "post" | "winstart" | "complete" | "winwait" | "fence" | "lock" | "flush"
            | "unlock" => {
                let kind = one_sided(name, plain, words);
                let window = number(words, "window", 0) as u32;
                Operation::OneSided { kind, communicator, window, bytes: 0, progress }
            }
            "init" => Operation::Initialize,
            "finalize" => Operation::Finalize,
            "plain" | "posix-plain" => Operation::Plain,
            _ => self.file_call(name, words, plain, progress),
        }
    }

    /// `read`, `write`, `open`, … of POSIX, `distance` as of [`FileCall::offset`]; `mpiio-write`, …
    /// in MPI-IO; `opaque-write`, … where no POSIX call is seen; `aio-write`.
    fn file_call(
        &mut self,
        name: &str,
        words: &Words,
        plain: &[&str],
        progress: Progress,
    ) -> Operation {
        let opaque = name.starts_with("opaque-");
        let file = self.trace.file(words.get("file").unwrap_or(&"f").as_bytes(), opaque);
        Operation::File(FileCall {
            kind: match name.rsplit('-').next().unwrap() {
                "read" => FileKind::Read,
                "write" | "write_end" => FileKind::Write,
                "open" => FileKind::Open,
                "close" => FileKind::Close,
                "sync" => FileKind::Sync,
                "seek" => FileKind::Seek,
                "view" => FileKind::View,
                other => panic!("unknown call {other}"),
            },
            layer: match name.split_once('-') {
                Some(("aio", _)) => Layer::Asynchronous,
                Some(_) => Layer::MpiIo,
                None => Layer::Posix,
            },
            file,
            bytes: number(words, "bytes", 0) as u64,
            offset: words.contains_key("distance").then(|| number(words, "distance", 0)),
            error: 0,
            collective: plain.contains(&"collective").then(|| number(words, "comm", 0) as u32),
            progress,
            creates: false,
            appends: false,
            opaque,
        })
    }

    fn tokens(&self, location: usize, names: &[&str]) -> Vec<Token> {
        let owned = |name: &str| match name.split_once('@') {
            Some((name, location)) => (location.parse().unwrap(), name.to_owned()),
            None => (location, name.to_owned()),
        };
        names.iter().map(|name| self.requests[&owned(name)]).collect()
    }
}

/// `BEGIN-END:WAITED`.
fn wait(words: &str) -> Wait {
    let numbers: Vec<i64> = words.split(['-', ':']).map(|word| word.parse().unwrap()).collect();
    Wait { begin_ns: numbers[0], end_ns: numbers[1], waited_ns: numbers[2] }
}

fn number(words: &Words, key: &str, otherwise: i64) -> i64 {
    words.get(key).map_or(otherwise, |word| word.parse().unwrap())
}

fn envelope(words: &Words, side: &str) -> Envelope {
    let peer = match words[side] {
        "nobody" => Envelope::NOBODY,
        "unknown" => Envelope::UNKNOWN,
        rank => rank.parse().unwrap(),
    };
    let (communicator, tag) = (number(words, "comm", 0) as u32, number(words, "tag", 0) as i32);
    Envelope { communicator, peer, tag, bytes: number(words, "bytes", 8) as u64 }
}

fn mode(plain: &[&str]) -> SendMode {
    match plain {
        words if words.contains(&"synchronous") => SendMode::Synchronous,
        words if words.contains(&"buffered") => SendMode::Buffered,
        words if words.contains(&"partitioned") => SendMode::Partitioned,
        _ => SendMode::Standard,
    }
}

fn flow(name: &str, root: i32) -> Flow {
    match name {
        "fromroot" => Flow::FromRoot(root),
        "toroot" => Flow::ToRoot(root),
        "prefix" => Flow::Prefix,
        "neighbours" => Flow::Neighbours,
        _ => Flow::All,
    }
}

fn one_sided(name: &str, plain: &[&str], words: &Words) -> OneSided {
    let ranks = plain.iter().filter_map(|word| word.parse().ok()).collect();
    let target = words.get("at").map(|rank| rank.parse().unwrap());
    match name {
        "lock" => OneSided::Lock { target, exclusive: plain.contains(&"exclusive") },
        "flush" => OneSided::Flush { target },
        "unlock" => OneSided::Unlock { target },
        "post" => OneSided::Post(ranks),
        "winstart" => OneSided::Start(ranks),
        "complete" => OneSided::Complete,
        "winwait" => OneSided::Wait,
        _ => OneSided::Collective,
    }
}

fn layer(name: &str, operation: &Operation) -> Layer {
    match operation {
        Operation::File(call) => call.layer,
        _ if name.starts_with("posix") => Layer::Posix,
        _ => Layer::Mpi,
    }
}

/// A number, or the place of a name in its list.
fn value(word: &str) -> i64 {
    const PATHS: [&str; 4] = ["measured", "net", "even", "ideal"];
    const AWAITED: [&str; 4] = ["sender", "receiver", "others", "lock"];
    let place = |names: [&str; 4]| names.iter().position(|name| *name == word);
    let place = place(PATHS).or(place(AWAITED)).map(|place| place as i64);
    place.unwrap_or_else(|| word.parse().unwrap())
}

/// What is not as it must be of every run's critical paths: the shares of each, and the time before
/// it begins, come to the run time of its replay.
pub(crate) fn wrong_paths(analysis: &Analysis) -> Vec<String> {
    let Clocks { net, even, ideal } = analysis.ideal;
    let paths = &analysis.dependences.paths;
    let runtimes = [analysis.runtime, net, even, ideal];
    let wrong = paths.iter().zip(runtimes).filter(|(path, runtime)| {
        let time: i64 = path.shares.iter().map(|share| share.time).sum();
        let negative = path.shares.iter().any(|share| share.time < 0);
        negative || path.runtime != *runtime || path.start + time != *runtime
    });
    wrong.map(|(path, runtime)| format!("{runtime} is not that of {path:?}")).collect()
}
