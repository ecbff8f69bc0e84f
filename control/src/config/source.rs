//! The file's text, or one sentence on why it cannot be had.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;

/// A configuration is text that people write; what is larger is something else.
const LARGEST: u64 = 16 << 20;

/// So often it is read again because it changed meanwhile.
const TRIES: u32 = 5;

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Whom a reader waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// For a pipe's other end: a person gave it.
    Pipes,
    /// For nobody: only a regular file is read.
    None,
}

/// What is sought, for what is said when it is something else.
#[derive(Clone, Copy)]
pub(super) enum Sought {
    /// The configuration file.
    Configuration,
    /// A file with certificates.
    Certificates,
}

impl Sought {
    fn name(self) -> &'static str {
        match self {
            Self::Configuration => "configuration file",
            Self::Certificates => "file of certificates",
        }
    }

    fn cure(self) -> &'static str {
        match self {
            Self::Configuration => "give the TOML file",
            Self::Certificates => {
                "give a PEM file (of a DER file, openssl x509 -inform der -in FILE makes one)"
            }
        }
    }
}

/// Reads the file, without ever holding more than [`LARGEST`] bytes (it may be a device or grow).
/// One that is written or replaced meanwhile is read again: the newest wins, and no half of it.
pub(super) fn read(path: &Path, patience: Patience, sought: Sought) -> Result<String, String> {
    for _ in 0..TRIES {
        let (bytes, before) = read_once(path, patience, sought)?;
        if before.is_none_or(|before| Identity::at(path) == Some(before)) {
            return text(bytes, sought);
        }
        std::thread::sleep(PAUSE);
    }
    Err("it kept changing while it was read; try again when it is complete".into())
}

/// Its bytes, and what it was before they were read; `None` for what is no regular file.
fn read_once(
    path: &Path,
    patience: Patience,
    sought: Sought,
) -> Result<(Vec<u8>, Option<Identity>), String> {
    let file = open(path, patience).map_err(|e| cannot_read(path, &e))?;
    let about = file.metadata().map_err(|e| cannot_read(path, &e))?;
    if about.is_dir() {
        return Err("this is a directory; give the file in it".into());
    }
    if patience == Patience::None && !about.is_file() {
        return Err("this is a pipe or a device; a reload takes a regular file".into());
    }
    if about.is_file() && about.len() > LARGEST {
        return Err(too_large(sought));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|e| cannot_read(path, &e))?;
    if bytes.len() as u64 > LARGEST {
        return Err(too_large(sought));
    }
    Ok((bytes, about.is_file().then(|| Identity::of(&about))))
}

/// Without patience it opens whatever is there at that moment and waits for no other end of it: what
/// it is, is looked at then.
fn open(path: &Path, patience: Patience) -> std::io::Result<File> {
    let flags = match patience {
        Patience::Pipes => OFlags::NOCTTY,
        Patience::None => OFlags::NOCTTY | OFlags::NONBLOCK,
    };
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)
}

/// Which content of which file: two readings of one path with the same one read the same.
#[derive(PartialEq, Eq)]
struct Identity {
    file: (u64, u64),
    length: u64,
    changed: (i64, i64),
}

impl Identity {
    fn of(about: &Metadata) -> Self {
        let changed = (about.ctime(), about.ctime_nsec());
        Self { file: (about.dev(), about.ino()), length: about.len(), changed }
    }

    /// Of what is at a path now.
    fn at(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|about| Self::of(&about))
    }
}

fn too_large(sought: Sought) -> String {
    let (name, cure) = (sought.name(), sought.cure());
    format!("larger than {} MB: this is no {name}; {cure}", LARGEST >> 20)
}

fn text(bytes: Vec<u8>, sought: Sought) -> Result<String, String> {
    if let Some(at) = bytes.iter().position(|b| *b == 0) {
        let (line, cure) = (line(&bytes, at), sought.cure());
        return Err(format!("a NUL byte in line {line}: this is no text file; {cure}"));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        format!("not UTF-8 in line {}: save it as UTF-8 text", line(e.as_bytes(), at))
    })
}

fn line(bytes: &[u8], at: usize) -> usize {
    bytes.iter().take(at).filter(|b| **b == b'\n').count() + 1
}

fn cannot_read(path: &Path, error: &std::io::Error) -> String {
    match (error.kind(), std::fs::read_link(path)) {
        (ErrorKind::NotFound, Ok(target)) => {
            let target = target.display();
            format!(
                "this is a link to {target}, and there is no such file; put it there, or mend the link"
            )
        }
        (ErrorKind::NotFound, Err(_)) => {
            "there is no such file; put it there, or name another one".into()
        }
        (ErrorKind::PermissionDenied, _) => {
            "this user may not read it: let it read the file and enter its folders (chmod, chown)"
                .into()
        }
        _ => format!("cannot be read: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_replaced_while_it_is_read_is_read_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, next) = (folder.path().join("w.toml"), folder.path().join("next"));
        let whole = |c: &str| c.repeat(1_000_000);
        std::fs::write(&path, whole("a")).expect("writes");
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    for c in ["b", "c"] {
                        std::fs::write(&next, whole(c)).expect("writes");
                        std::fs::rename(&next, &path).expect("replaces");
                        std::thread::sleep(Duration::from_millis(5));
                    }
                }
            });
            for _ in 0..50 {
                if let Ok(text) = read(&path, Patience::None, Sought::Configuration) {
                    let first = text.chars().next().expect("not empty");
                    assert!(text.len() == 1_000_000 && text.chars().all(|c| c == first));
                }
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }

    #[test]
    fn a_file_that_grows_under_the_reader_is_not_half_of_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("w.toml");
        std::fs::write(&path, "half").expect("writes");
        let (bytes, before) =
            read_once(&path, Patience::None, Sought::Configuration).expect("reads");
        std::fs::write(&path, "half and the rest").expect("writes");
        assert!(bytes == b"half" && Identity::at(&path) != before, "it would be read again");
        assert_eq!(
            read(&path, Patience::None, Sought::Configuration).as_deref(),
            Ok("half and the rest")
        );
    }

    #[test]
    fn a_pipe_is_read_to_its_end_with_patience_and_refused_at_once_without() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("w.toml");
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success());
        let refused = "this is a pipe or a device; a reload takes a regular file";
        assert_eq!(read(&path, Patience::None, Sought::Configuration), Err(refused.to_owned()));
        std::thread::scope(|scope| {
            scope.spawn(|| std::fs::write(&path, "text").expect("somebody reads"));
            assert_eq!(read(&path, Patience::Pipes, Sought::Configuration).as_deref(), Ok("text"));
        });
    }

    #[test]
    fn what_is_no_text_is_refused_with_what_is_sought_instead() {
        let said = |sought| text(b"0\x82\0".to_vec(), sought).expect_err("no text");
        assert!(said(Sought::Configuration).ends_with("give the TOML file"));
        assert!(said(Sought::Certificates).contains("give a PEM file (of a DER file"));
        assert!(too_large(Sought::Certificates).contains("no file of certificates"));
    }
}
