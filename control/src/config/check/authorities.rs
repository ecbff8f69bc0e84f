//! `tls_ca`: read with the file that names it, at `check` and at each reload.

use std::path::Path;
use std::sync::Arc;

use crate::config::field::Field;
use crate::config::report::Report;
use crate::config::source::{self, Patience, Sought};
use crate::model::Authorities;

const ALLOWED: &str = "allowed: the path, from \"/\", of a file with certificates in PEM; without tls_ca no certificate is verified";

/// The authorities; nothing where something is wrong with them, which is said.
pub(super) fn read(field: &Field<String>, report: &mut Report<'_>) -> Option<Arc<Authorities>> {
    match file(field) {
        Ok(authorities) => Some(Arc::new(authorities)),
        Err(why) => {
            report.refuse(field, &why, ALLOWED);
            None
        }
    }
}

fn file(name: &str) -> Result<Authorities, String> {
    let path = Path::new(name);
    // The process that reloads has another working directory than whoever wrote this.
    if !path.is_absolute() {
        return Err("not a path from \"/\"".into());
    }
    let text = source::read(path, Patience::None, Sought::Certificates)?;
    Authorities::from_pem(name, &text)
}
