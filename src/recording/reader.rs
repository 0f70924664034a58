//! Opens a recording up to where it is damaged.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::{Crc, Decompress};

use super::frame::{FILE_HEAD, FRAME_HEAD, Head, Kind, MAGIC, Mark, VERSION, decode};
use super::inflate::{InflateError, Lines, Sink, inflate};
use crate::model::Live;
use crate::named_file::InputError;
use crate::named_file::input::{self, Input};

/// Frames that are indexed at most: three weeks at one view a second, with requests.
const MOST_FRAMES: usize = 4 << 20;
/// Frames at most whose compression needs those before them: opening one works through so many.
/// The recorder begins anew after 60.
const MOST_SINCE_RESTART: usize = 4096;

/// Why a recording cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system said no.
    #[error("cannot {tried} {}: {source}", path.display())]
    Io {
        /// What was tried.
        tried: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The file cannot be opened, or is none to be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// It is no recording.
    #[error("{} is no diskscope recording: {reason}", path.display())]
    Foreign {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A frame holds something else than it should.
    #[error("frame {index} of {} cannot be understood: {reason}", path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// Which frame, from 0.
        index: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// Where and how a recording is damaged; everything before is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Bytes that are whole.
    pub offset: u64,
    /// Bytes from there to the end of the file.
    pub left: u64,
    /// What is wrong.
    pub reason: &'static str,
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "damaged at byte {}: {}; the {} bytes from there on are left out",
            self.offset, self.reason, self.left
        )
    }
}

/// One frame, not opened yet.
#[derive(Debug, Clone, Copy)]
struct Entry {
    head: Head,
    payload: u64,
}

/// A recording, opened up to where it is damaged.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    file: File,
    entries: Vec<Entry>,
    /// Which of the entries are views.
    views: Vec<usize>,
    damage: Option<Damage>,
    stream: Stream,
}

/// How far the compressed stream was followed.
#[derive(Debug)]
struct Stream {
    decompress: Decompress,
    /// The entry that comes next; `None` when it has to begin anew.
    next: Option<usize>,
}

impl Recording {
    /// Opens a file, and checks every frame.
    ///
    /// # Errors
    /// When it cannot be read or is no recording. Damage behind the head is no error.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let failed = |tried| {
            move |source| ReadError::Io {
                tried,
                path: path.to_owned(),
                source,
            }
        };
        let (file, _) = input::open(path, Input::Seekable)?;
        let size = file.metadata().map_err(failed("look at"))?.len();
        let mut reader = BufReader::with_capacity(1 << 18, &file);
        check_head(path, &mut reader)?;
        let mut scan = Scan {
            reader,
            offset: FILE_HEAD as u64,
            size,
            since_restart: 0,
        };
        let mut entries = Vec::new();
        let damage = loop {
            match scan.next() {
                Ok(Some(_)) if entries.len() == MOST_FRAMES => {
                    break Some(Damage {
                        offset: scan.offset,
                        left: size - scan.offset,
                        reason: "it has more frames than can be indexed",
                    });
                }
                Ok(Some(entry)) => entries.push(entry),
                Ok(None) => break None,
                Err(ScanError::Damaged(reason)) => {
                    break Some(Damage {
                        offset: scan.offset,
                        left: size - scan.offset,
                        reason,
                    });
                }
                Err(ScanError::Io(error)) => return Err(failed("read")(error)),
            }
        };
        let views = (0..entries.len())
            .filter(|index| entries[*index].head.kind == Kind::View)
            .collect();
        Ok(Self {
            path: path.to_owned(),
            file,
            entries,
            views,
            damage,
            stream: Stream {
                decompress: Decompress::new(false),
                next: None,
            },
        })
    }

    /// How many views there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// Where it is damaged, if it is.
    #[must_use]
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// Whether it was ended as it should; a kill leaves none of that.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.entries
            .last()
            .is_some_and(|entry| entry.head.kind == Kind::End)
    }

    /// What is known of a view without opening it.
    #[must_use]
    pub fn mark(&self, view: usize) -> Option<Mark> {
        Some(self.entries[*self.views.get(view)?].head.mark)
    }

    /// All of them, in order.
    pub fn marks(&self) -> impl Iterator<Item = Mark> {
        self.views
            .iter()
            .map(|index| self.entries[*index].head.mark)
    }

    /// Opens a view; `None` when there are not so many. Cheapest in order.
    ///
    /// # Errors
    /// When the file cannot be read any more, a newer program wrote what this one does not
    /// understand, or the view is larger than any real one.
    pub fn view(&mut self, view: usize) -> Result<Option<Live>, ReadError> {
        let Some(index) = self.views.get(view).copied() else {
            return Ok(None);
        };
        let mut content = Vec::new();
        self.content(index, &mut |piece| {
            content.extend_from_slice(piece);
            Ok(())
        })?;
        serde_json::from_slice(&content)
            .map(Some)
            .map_err(|error| self.wrong(index, &error))
    }

    /// Goes through the requests that were recorded between the view before and this one: `each` is
    /// given one JSON object after the other, safe to print, and says whether to go on. Returns
    /// false when it did not. No more than one line is held at a time.
    ///
    /// # Errors
    /// When the file cannot be read any more, or a line is no JSON object or too long.
    pub fn requests(
        &mut self,
        view: usize,
        each: &mut dyn FnMut(&str) -> bool,
    ) -> Result<bool, ReadError> {
        let Some(end) = self.views.get(view).copied() else {
            return Ok(true);
        };
        let begin = view
            .checked_sub(1)
            .and_then(|before| self.views.get(before))
            .map_or(0, |before| before + 1);
        for index in begin..end {
            if self.entries[index].head.kind != Kind::Requests {
                continue;
            }
            let mut lines = Lines::new(&mut *each);
            let result = self
                .content(index, &mut |piece| lines.take(piece))
                .and_then(|()| lines.end().map_err(|reason| self.wrong(index, &reason)));
            let is_over = lines.is_over();
            if is_over {
                self.stream.next = None;
                return Ok(false);
            }
            result?;
        }
        Ok(true)
    }

    /// Whether single requests were recorded too.
    #[must_use]
    pub fn has_requests(&self) -> bool {
        let mut kinds = self.entries.iter().map(|entry| entry.head.kind);
        kinds.any(|kind| kind == Kind::Requests)
    }

    fn wrong(&self, index: usize, reason: &dyn fmt::Display) -> ReadError {
        ReadError::Content {
            path: self.path.clone(),
            index,
            reason: reason.to_string(),
        }
    }

    /// Hands over what a frame holds, piece by piece. Works through the frames before it as far as
    /// the last one at which compression began anew, unless they were opened just now.
    fn content(&mut self, index: usize, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let restart = (0..=index)
            .rev()
            .find(|entry| self.entries[*entry].head.is_restart)
            .ok_or_else(|| self.wrong(index, &"no frame to begin with"))?;
        let begin = self
            .stream
            .next
            .filter(|next| (restart..=index).contains(next))
            .unwrap_or(restart);
        self.stream.next = None;
        for entry in begin..=index {
            let Entry { head, payload } = self.entries[entry];
            if head.is_restart {
                self.stream.decompress.reset(false);
            }
            let failed = |source| ReadError::Io {
                tried: "read",
                path: self.path.clone(),
                source,
            };
            (&self.file)
                .seek(SeekFrom::Start(payload))
                .map_err(failed)?;
            let frame = (&self.file).take(head.length as u64);
            let skip: &mut Sink<'_> = &mut |_| Ok(());
            let sink = if entry == index { &mut *sink } else { skip };
            match inflate(&mut self.stream.decompress, frame, sink) {
                Ok(()) => {}
                Err(InflateError::Io(source)) => return Err(failed(source)),
                Err(InflateError::Content(reason)) => return Err(self.wrong(entry, &reason)),
            }
        }
        self.stream.next = Some(index + 1);
        Ok(())
    }
}

fn check_head(path: &Path, reader: &mut impl Read) -> Result<(), ReadError> {
    let foreign = |reason: String| ReadError::Foreign {
        path: path.to_owned(),
        reason,
    };
    let mut head = [0; FILE_HEAD];
    match reader.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(foreign("it is too short".to_owned()));
        }
        Err(source) => {
            return Err(ReadError::Io {
                tried: "read",
                path: path.to_owned(),
                source,
            });
        }
    }
    let (magic, rest) = head.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(foreign("it begins with something else".to_owned()));
    }
    let version = u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]);
    if version != VERSION {
        return Err(foreign(format!(
            "its version is {version} and this program's {VERSION}: update diskscope"
        )));
    }
    Ok(())
}

enum ScanError {
    Damaged(&'static str),
    Io(io::Error),
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Damaged("it breaks off"),
            _ => Self::Io(error),
        }
    }
}

/// Goes from frame to frame.
struct Scan<R> {
    reader: R,
    /// Up to here all is well.
    offset: u64,
    size: u64,
    /// Frames since compression began anew.
    since_restart: usize,
}

impl<R: Read> Scan<R> {
    fn next(&mut self) -> Result<Option<Entry>, ScanError> {
        if self.offset >= self.size {
            return Ok(None);
        }
        let mut bytes = [0; FRAME_HEAD];
        self.reader.read_exact(&mut bytes)?;
        let (head, sum) = decode(&bytes).ok_or(ScanError::Damaged("no frame begins there"))?;
        let payload = self.offset + FRAME_HEAD as u64;
        let end = payload + head.length as u64;
        if end > self.size {
            return Err(ScanError::Damaged("it breaks off"));
        }
        if self.checksum(&bytes[..FRAME_HEAD - 4], head.length)? != sum {
            return Err(ScanError::Damaged("the checksum is wrong"));
        }
        self.since_restart = match head.is_restart {
            true => 0,
            false => self.since_restart + 1,
        };
        if self.since_restart > MOST_SINCE_RESTART {
            return Err(ScanError::Damaged("its compression never begins anew"));
        }
        self.offset = end;
        Ok(Some(Entry { head, payload }))
    }

    /// The checksum of a frame whose payload comes next.
    fn checksum(&mut self, head: &[u8], length: usize) -> io::Result<u32> {
        let mut crc = Crc::new();
        crc.update(head);
        let mut piece = [0; 16 << 10];
        let mut left = length;
        while left > 0 {
            let next = left.min(piece.len());
            self.reader.read_exact(&mut piece[..next])?;
            crc.update(&piece[..next]);
            left -= next;
        }
        Ok(crc.sum())
    }
}
