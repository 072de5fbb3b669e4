//! The first line: how long the run was, on which nodes, with how many tasks.
//!
//! `#Paraver (dd/mm/yyyy at
//! hh:mm):DURATION[_ns]:NODES(CPUS,…):APPLICATIONS:TASKS(THREADS:NODE,…)[,COMMUNICATORS]`. Without
//! `_ns` all times of the file are microseconds. The tasks are listed one by one, so what the
//! header claims is never larger than the header. Of several applications the first is read: the
//! others are readers of counters that Extrae started beside it.

use super::fields::Fields;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// As it stands in the parentheses.
    pub date: String,
    pub duration_ns: i64,
    /// Nanoseconds per unit of the file's times: 1, or 1000 where the times are microseconds.
    pub unit_ns: i64,
    pub applications: u32,
    /// One per rank of the first application.
    pub tasks: Vec<Task>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub threads: u32,
    /// From 1; 0 where the file does not say.
    pub node: u32,
}

/// More are taken for a mistake: every rank costs memory before its first record is read.
const MOST_TASKS: usize = 1 << 20;

/// What is wrong with a header.
pub(super) type Wrong = &'static str;

impl Header {
    pub(super) fn parse(line: &[u8]) -> Result<Self, Wrong> {
        let line = line.strip_prefix(b"#Paraver").ok_or("it does not begin with #Paraver")?;
        let (date, rest) = date(line)?;
        let (duration, rest) = split(rest).ok_or("nothing stands behind the duration")?;
        let (unit_ns, digits) =
            duration.strip_suffix(b"_ns").map_or((1000, duration), |digits| (1, digits));
        let units = Fields::new(digits)
            .time("")
            .map_err(|_| "its duration is not a number of nanoseconds")?;
        let duration_ns = units
            .checked_mul(unit_ns)
            .filter(|ns| *ns <= 1 << 60)
            .ok_or("its duration is above 36 years")?;
        let (applications, tasks) = application(nodes(rest)?)?;
        Ok(Self { date, duration_ns, unit_ns, applications, tasks })
    }
}

/// The date between parentheses, and what follows the colon behind it.
fn date(line: &[u8]) -> Result<(String, &[u8]), Wrong> {
    let wrong = "its date does not stand in parentheses";
    let open = memchr::memchr(b'(', line).ok_or(wrong)?;
    let close = memchr::memchr(b')', line).filter(|close| *close > open).ok_or(wrong)?;
    let rest = line[close + 1..].strip_prefix(b":").ok_or("no colon stands behind its date")?;
    Ok((String::from_utf8_lossy(&line[open + 1..close]).into_owned(), rest))
}

/// Up to the next colon, and what follows it.
fn split(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr::memchr(b':', text)?;
    Some((&text[..colon], &text[colon + 1..]))
}

/// What follows the nodes `2(8,8):`.
fn nodes(text: &[u8]) -> Result<&[u8], Wrong> {
    Ok(split(text).ok_or("nothing stands behind its nodes")?.1)
}

/// How many applications there are, and the tasks of the first, of `1:4(1:1,1:1,1:1,1:2),5`.
fn application(text: &[u8]) -> Result<(u32, Vec<Task>), Wrong> {
    let (applications, rest) = split(text).ok_or("it lists no tasks")?;
    let applications = Fields::new(applications)
        .small("")
        .map_err(|_| "its number of applications is not a number")?;
    if applications == 0 {
        return Err("it holds no application");
    }
    let open = memchr::memchr(b'(', rest).ok_or("it lists no tasks")?;
    let close = memchr::memchr(b')', rest)
        .filter(|close| *close > open)
        .ok_or("its list of tasks does not end")?;
    let count =
        Fields::new(&rest[..open]).small("").map_err(|_| "its number of tasks is not a number")?;
    if count as usize > MOST_TASKS {
        return Err("it claims more than a million tasks");
    }
    let tasks = rest[open + 1..close]
        .split(|byte| *byte == b',')
        .map(task)
        .collect::<Result<Vec<_>, _>>()?;
    let more = rest.get(close + 1) == Some(&b':');
    if tasks.len() != count as usize || (more && applications == 1) {
        return Err("its number of tasks is not the number that it lists");
    }
    Ok((applications, tasks))
}

fn task(text: &[u8]) -> Result<Task, Wrong> {
    let wrong = "a task is not written as THREADS:NODE";
    let mut fields = Fields::new(text);
    let threads = fields.small(wrong)?;
    let node = if fields.is_empty() { 0 } else { fields.small(wrong)? };
    if threads == 0 { Err("a task has no thread") } else { Ok(Task { threads, node }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_and_times_are_read() {
        let header =
            Header::parse(b"#Paraver (09/10/2019 at 16:08):608_ns:2(8,8):1:3(1:1,4:1,1:2),5")
                .unwrap();
        assert_eq!((header.duration_ns, header.unit_ns), (608, 1));
        assert_eq!(header.date, "09/10/2019 at 16:08");
        let expected = [(1, 1), (4, 1), (1, 2)].map(|(threads, node)| Task { threads, node });
        assert_eq!(header.tasks, expected);
        assert_eq!(Header::parse(b"#Paraver (x):608:0:1:1(1:1)").unwrap().duration_ns, 608_000);
    }

    #[test]
    fn of_several_applications_the_first_has_the_tasks() {
        for text in ["2:2(1:1,1:1),5:3(1:1,1:1,1:1)", "2:2(1:1,1:1),3(1:1,1:1,1:1),5"] {
            let header = Header::parse(format!("#Paraver (x):1_ns:1(1):{text}").as_bytes());
            let header = header.expect("it is read");
            assert_eq!((header.applications, header.tasks.len()), (2, 2));
        }
    }

    #[test]
    fn claims_that_the_list_does_not_bear_out_are_refused() {
        for (text, wrong) in [
            ("#Paraver (x):1_ns:1(1):1:4000000000(1:1)", "it claims more than a million tasks"),
            (
                "#Paraver (x):1_ns:1(1):1:400000(1:1)",
                "its number of tasks is not the number that it lists",
            ),
            ("#Paraver (x):1_ns:1(1):0:1(1:1)", "it holds no application"),
            (
                "#Paraver (x):1_ns:1(1):1:1(1:1):1(1:1)",
                "its number of tasks is not the number that it lists",
            ),
            (
                "#Paraver (x):99999999999999999999_ns:1(1):1:1(1:1)",
                "its duration is not a number of nanoseconds",
            ),
            ("#Paraver (x):1152921504606846976:1(1):1:1(1:1)", "its duration is above 36 years"),
            ("#Paraver (x", "its date does not stand in parentheses"),
            ("#Paraver )x(", "its date does not stand in parentheses"),
            ("#Paraver (x):1_ns:1(1):1:1(0:1)", "a task has no thread"),
            ("PK", "it does not begin with #Paraver"),
        ] {
            assert_eq!(Header::parse(text.as_bytes()), Err(wrong), "{text}");
        }
    }
}
