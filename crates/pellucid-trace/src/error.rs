//! Everything that can go wrong with a trace, with the numbers that say why.

use std::path::PathBuf;

/// Why a trace could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A trace is never written over another file.
    #[error("{} exists already; choose another name or remove it", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The folder is not there.
    #[error("the folder {} does not exist; create it first", parent.display())]
    ParentMissing {
        /// The file that was asked for.
        path: PathBuf,
        /// The folder that is missing.
        parent: PathBuf,
    },
    /// The folder does not allow it.
    #[error("{} cannot be created: no permission to write to its folder", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
    },
    /// The system refused something.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Writing stopped in the middle, for instance because the disk is full.
    #[error(
        "writing {} stopped after {bytes} bytes: {source}; {}", path.display(),
        if *readable { "what came before can be read" } else { "try `pellucid recover` on what came before" }
    )]
    Stopped {
        /// The file.
        path: PathBuf,
        /// Bytes of complete members.
        bytes: u64,
        /// True if a manifest could still be written.
        readable: bool,
        /// The system's reason.
        source: std::io::Error,
    },
    /// `finish` was called before.
    #[error("the trace {} is finished already", path.display())]
    Finished {
        /// The file.
        path: PathBuf,
    },
    /// The thread that writes ended unexpectedly. This is a defect of this crate.
    #[error("the thread that writes {} ended unexpectedly: {message}", path.display())]
    WriterLost {
        /// The file.
        path: PathBuf,
        /// Its last words.
        message: String,
    },
    /// A folder, a pipe or a device: a trace is read here and there, which only a file allows.
    #[error("{} is not a regular file; a trace cannot be read from a folder, a pipe or a device: save it to a file first", path.display())]
    NotAFile {
        /// What was given.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{} is not a trace: {reason}", path.display())]
    NotATrace {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file has no end: the program that wrote it was killed, or the file was cut.
    #[error("{} was cut short: it has no table of contents; `pellucid recover` saves what is complete", path.display())]
    CutShort {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer version.
    #[error("the trace has version {found}; this program reads up to version {supported}: use a newer one")]
    NewerVersion {
        /// Version of the file.
        found: u64,
        /// The newest version known.
        supported: u32,
    },
    /// A member's name would lead out of the file, or is not plain ASCII.
    #[error("the trace has a member with the unsafe name {name:?}")]
    UnsafeName {
        /// The name.
        name: String,
    },
    /// A size that the file's own size does not justify.
    #[error("{what} would take {bytes} bytes, more than the {limit} that {file_bytes} bytes of file justify")]
    TooLarge {
        /// Which part.
        what: String,
        /// Bytes asked for.
        bytes: u64,
        /// Bytes allowed.
        limit: u64,
        /// Size of the file.
        file_bytes: u64,
    },
    /// There is no such member.
    #[error("the trace has no {name}")]
    NoMember {
        /// The name.
        name: String,
    },
    /// A member is damaged.
    #[error("{member} is damaged: {reason}")]
    Damaged {
        /// The member.
        member: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Rows contradict each other.
    #[error("the trace contradicts itself in {count} place(s), first: {first}")]
    Inconsistent {
        /// The first contradiction.
        first: Box<crate::Problem>,
        /// How many there are.
        count: usize,
    },
    /// The export would be of no use.
    #[error("{what} has {count} {unit}, more than the {limit} that {target} can show; {advice}")]
    TooManyToShow {
        /// What was exported.
        what: &'static str,
        /// How many.
        count: usize,
        /// Of what.
        unit: &'static str,
        /// The limit.
        limit: usize,
        /// The format.
        target: &'static str,
        /// What to do instead.
        advice: &'static str,
    },
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
