//! From where in the program calls come: call paths, as far as symbols and debug information tell.

use crate::cursor::{Cursor, Damage, put_string, put_varint};

/// Frames of one path, and what a trace holds in all: bounds on what a damaged one can claim.
pub(crate) const PATH_FRAMES_MAX: usize = 1024;
pub(crate) const PATHS_MAX: usize = 1 << 20;
pub(crate) const FRAMES_MAX: usize = 1 << 20;

/// A function of the program that was on its way to a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Empty where nothing names it.
    pub function: String,
    /// Source file, empty where no debug information names it.
    pub source: String,
    /// 0 where that is not known.
    pub line: u32,
    /// The program or library that holds its code; empty where a compiler made it at run time.
    pub module: String,
    /// Of the instruction behind the call, in the module's own addresses.
    pub address: u64,
}

/// How the program came to a call: the innermost frame first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CallPath {
    /// Indices into [`Places::frames`].
    pub frames: Vec<u32>,
    /// It goes on where the recorder stopped.
    pub cut: bool,
}

/// Call paths of a trace. A shape's place is 0, or an index into `paths` and 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    pub frames: Vec<Frame>,
    pub paths: Vec<CallPath>,
}

impl Places {
    /// The path of a shape's place.
    pub fn path(&self, place: u32) -> Option<&CallPath> {
        self.paths.get((place as usize).checked_sub(1)?)
    }

    pub(crate) fn put(&self, to: &mut Vec<u8>) {
        put_varint(to, self.frames.len() as u64);
        for frame in &self.frames {
            put_string(to, frame.function.as_bytes());
            put_string(to, frame.source.as_bytes());
            put_varint(to, frame.line.into());
            put_string(to, frame.module.as_bytes());
            put_varint(to, frame.address);
        }
        put_varint(to, self.paths.len() as u64);
        for path in &self.paths {
            to.push(path.cut.into());
            put_varint(to, path.frames.len() as u64);
            path.frames.iter().for_each(|&frame| put_varint(to, frame.into()));
        }
    }

    pub(crate) fn read(from: &mut Cursor) -> Result<Self, Damage> {
        let frames = from.count(5)?;
        if frames > FRAMES_MAX {
            return Err(from.damage("there are too many frames"));
        }
        let frames: Vec<Frame> = (0..frames).map(|_| frame(from)).collect::<Result<_, _>>()?;
        let paths = from.count(2)?;
        if paths > PATHS_MAX {
            return Err(from.damage("there are too many call paths"));
        }
        let paths = (0..paths).map(|_| path(from, frames.len())).collect::<Result<_, _>>()?;
        Ok(Self { frames, paths })
    }
}

fn frame(from: &mut Cursor) -> Result<Frame, Damage> {
    let text = |from: &mut Cursor| -> Result<String, Damage> {
        Ok(String::from_utf8_lossy(from.string()?).into_owned())
    };
    Ok(Frame {
        function: text(from)?,
        source: text(from)?,
        line: u32::try_from(from.varint()?).unwrap_or(0),
        module: text(from)?,
        address: from.varint()?,
    })
}

fn path(from: &mut Cursor, frames: usize) -> Result<CallPath, Damage> {
    let cut = from.u8()? != 0;
    let count = from.count(1)?;
    if count > PATH_FRAMES_MAX {
        return Err(from.damage("a call path has too many frames"));
    }
    let number = |from: &mut Cursor| match from.varint()? {
        frame if frame < frames as u64 => Ok(frame as u32),
        _ => Err(from.damage("a call path has a frame that is not there")),
    };
    Ok(CallPath { frames: (0..count).map(|_| number(from)).collect::<Result<_, _>>()?, cut })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_back() {
        let frame = |function: &str, line| Frame {
            function: function.into(),
            source: "/model/output.f90".into(),
            line,
            module: "/model/solver".into(),
            address: 1 << 33,
        };
        let places = Places {
            frames: vec![frame("write_history", 212), frame("step", 40)],
            paths: vec![
                CallPath { frames: vec![0, 1], cut: false },
                CallPath { frames: vec![1], cut: true },
            ],
        };
        let mut bytes = Vec::new();
        places.put(&mut bytes);
        assert_eq!(Places::read(&mut Cursor::new(&bytes)), Ok(places.clone()));
        assert_eq!(places.path(2), Some(&places.paths[1]));
        assert_eq!(places.path(0), None);
        assert_eq!(places.path(3), None);
    }

    #[test]
    fn a_frame_that_is_not_there_is_damage() {
        let places = Places {
            frames: vec![Frame::default()],
            paths: vec![CallPath { frames: vec![1], cut: false }],
        };
        let mut bytes = Vec::new();
        places.put(&mut bytes);
        assert!(Places::read(&mut Cursor::new(&bytes)).is_err());
    }
}
