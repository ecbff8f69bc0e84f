//! The control socket's file: whose it is, who may use it, and that it goes when we go.

use std::io::{Error, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Group};

/// The group that may use it, if the system has it.
const GROUP: &str = "windrose";

/// Owner and group may read and write: connecting takes both.
const MODE: u32 = 0o660;

/// Why there is no control socket.
#[derive(Debug, thiserror::Error)]
pub enum NoSocket {
    /// Somebody answers there.
    #[error(
        "control socket {0}: another process listens there; stop it, or give each its own [admin] socket"
    )]
    Taken(PathBuf),
    /// It is no socket: it may be somebody's file.
    #[error(
        "control socket {0}: there is something else than a socket; remove it, or give another [admin] socket"
    )]
    Occupied(PathBuf),
    /// The system refused.
    #[error("control socket {path}: {error}")]
    System {
        /// Where.
        path: PathBuf,
        /// Why.
        error: Error,
    },
}

/// The file; removed when this is dropped, if it is still ours.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

/// Listens at `path`, and makes its folder if there is none. What a dead process has left there is
/// replaced. It is made under another name first, so that nobody ever finds it with other rights.
///
/// # Errors
/// Somebody listens there, there is something else, or the system refuses.
pub fn bind(path: &Path) -> Result<(UnixListener, SocketFile), NoSocket> {
    make_room(path)?;
    let system = |error| NoSocket::System { path: path.to_owned(), error };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let first = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let _ = std::fs::remove_file(&first);
    let made = UnixListener::bind(&first).and_then(|listener| {
        set_rights(&first)?;
        let about = std::fs::metadata(&first)?;
        std::fs::rename(&first, path)?;
        let identity = (about.dev(), about.ino());
        Ok((listener, SocketFile { path: path.to_owned(), identity }))
    });
    made.map_err(|error| {
        let _ = std::fs::remove_file(&first);
        system(error)
    })
}

fn make_room(path: &Path) -> Result<(), NoSocket> {
    let system = |error| NoSocket::System { path: path.to_owned(), error };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(system)?;
    }
    match std::fs::symlink_metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(system(e)),
        Ok(about) if !about.file_type().is_socket() => {
            return Err(NoSocket::Occupied(path.to_owned()));
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        // Nobody listens: left by a process that was killed.
        Err(e) if e.kind() == ErrorKind::ConnectionRefused => Ok(()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        // Somebody answers, or is only too busy to (WouldBlock).
        _ => Err(NoSocket::Taken(path.to_owned())),
    }
}

fn set_rights(path: &Path) -> std::io::Result<()> {
    // Without the group it is root's alone; and only root may give it to a group.
    if let Ok(Some(Group { gid, .. })) = Group::from_name(GROUP) {
        own(path, gid)?;
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(MODE))
}

fn own(path: &Path, gid: Gid) -> std::io::Result<()> {
    match chown(path, None, Some(gid.as_raw())) {
        Err(e) if e.kind() == ErrorKind::PermissionDenied => {
            tracing::warn!("the control socket is not given to group {GROUP}: not permitted");
            Ok(())
        }
        done => done,
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let about = std::fs::symlink_metadata(&self.path);
        if about.is_ok_and(|about| (about.dev(), about.ino()) == self.identity) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_replaced_when_stale_and_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/control.sock");
        let (listener, file) = bind(&path).expect("binds");
        let mode = std::fs::metadata(&path).expect("is there").permissions().mode();
        assert_eq!(mode & 0o777, MODE);
        let taken = bind(&path).expect_err("somebody listens").to_string();
        assert!(taken.contains("another process listens there"), "{taken}");
        // As kill -9 leaves it.
        drop(listener);
        std::mem::forget(file);
        let (_listener, file) = bind(&path).expect("replaces what is stale");
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn what_is_not_ours_is_never_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("control.sock");
        std::fs::write(&path, "precious").expect("writes");
        assert!(matches!(bind(&path), Err(NoSocket::Occupied(_))));
        std::fs::remove_file(&path).expect("removes");
        let (_listener, file) = bind(&path).expect("binds");
        std::fs::remove_file(&path).expect("removes");
        std::fs::write(&path, "another's").expect("writes");
        drop(file);
        assert!(path.exists());
    }
}
