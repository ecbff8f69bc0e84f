//! The operator's orders, kept in a file over a restart (T-18).
//!
//! A backend that was drained for maintenance must not come back because the appliance was
//! upgraded, or crashed. The file is replaced whole; when it cannot be written the order is in force
//! all the same, and whoever gave it is told.

use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::state::Orders;

/// What an earlier process has kept; none where there is no file, or no path.
///
/// # Errors
/// One sentence. There are orders, but nobody knows which: the file stays for a look at it.
pub fn load(path: &str) -> Result<Orders, String> {
    if path.is_empty() {
        return Ok(Orders::default());
    }
    let text = match std::fs::read(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Orders::default()),
        read => read.map_err(|e| format!("{path}: cannot be read: {e}"))?,
    };
    serde_json::from_slice(&text).map_err(|e| format!("{path}: {e}"))
}

/// Replaces what is kept. The folder is made if there is none.
///
/// # Errors
/// One sentence: the file system's reason. What was kept before is still whole.
pub fn save(path: &str, orders: &Orders) -> Result<(), String> {
    if path.is_empty() {
        return Err("admin.orders names no file to keep it in".into());
    }
    let path = Path::new(path);
    let next = path.with_extension("new");
    let written = write(&next, orders).and_then(|()| replace(&next, path));
    written.map_err(|e| {
        let _ = std::fs::remove_file(&next);
        format!("{}: cannot be written: {e}", path.display())
    })
}

fn write(path: &Path, orders: &Orders) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut text = serde_json::to_vec_pretty(orders)?;
    text.push(b'\n');
    let mut file = std::fs::File::create(path)?;
    file.write_all(&text)?;
    file.sync_all()
}

/// Whole, and over a loss of power too: a folder's names are its own to be synchronised.
fn replace(next: &Path, path: &Path) -> std::io::Result<()> {
    std::fs::rename(next, path)?;
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => std::fs::File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_was_ordered() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/orders.json").display().to_string();
        assert_eq!(load(&path), Ok(Orders::default()));
        let text = r#"{"web":{"drained":true,"backends":{"rack/a1":{"disabled":true}}}}"#;
        let orders: Orders = serde_json::from_str(text).expect("orders");
        save(&path, &orders).expect("saves");
        assert_eq!(load(&path), Ok(orders.clone()));
        assert_eq!(load(""), Ok(Orders::default()));
        assert!(save("", &orders).is_err());
    }

    #[test]
    fn what_cannot_be_read_or_written_is_said_with_its_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let bad = folder.path().join("orders.json");
        std::fs::write(&bad, "{\"web\":").expect("writes");
        let bad = bad.display().to_string();
        assert!(load(&bad).is_err_and(|why| why.contains("orders.json") && why.contains("EOF")));
        let under_a_file = format!("{bad}/orders.json");
        let refused = save(&under_a_file, &Orders::default());
        assert!(refused.is_err_and(|why| why.contains("cannot be written")));
        assert_eq!(std::fs::read_to_string(&bad).expect("still there"), "{\"web\":");
    }
}
