//! Whom a check's server has to be vouched for by: `tls_ca`.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};

/// The certificates of a file. Two are the same if their names and their certificates are, so that a
/// file of the same name with others in it is a change.
#[derive(Clone)]
pub struct Authorities {
    path: String,
    certificates: Vec<CertificateDer<'static>>,
    roots: Arc<RootCertStore>,
}

impl Authorities {
    /// Reads PEM text; `path` is where it is from. What stands between certificates is passed over, as
    /// everywhere.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn from_pem(path: &str, text: &str) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        let mut certificates = Vec::new();
        for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
            let place = certificates.len() + 1;
            let broken =
                |why: &dyn fmt::Display| format!("its certificate {place} is broken: {why}");
            let certificate = certificate.map_err(|error| broken(&said(&error)))?;
            roots.add(certificate.clone()).map_err(|error| broken(&error))?;
            certificates.push(certificate);
        }
        if certificates.is_empty() {
            return Err("it has no certificate: no line \"-----BEGIN CERTIFICATE-----\"".into());
        }
        Ok(Self { path: path.to_owned(), certificates, roots: Arc::new(roots) })
    }

    /// The file's name.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// How many certificates it has.
    pub fn count(&self) -> usize {
        self.certificates.len()
    }

    /// What a server's certificate is checked against.
    pub fn roots(&self) -> &Arc<RootCertStore> {
        &self.roots
    }
}

/// The library would print the bytes of the missing line as numbers.
fn said(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { .. } => {
            "the line \"-----END CERTIFICATE-----\" is missing; the file is cut: copy it again"
                .into()
        }
        other => other.to_string(),
    }
}

impl PartialEq for Authorities {
    fn eq(&self, other: &Self) -> bool {
        (&self.path, &self.certificates) == (&other.path, &other.certificates)
    }
}

impl Eq for Authorities {}

impl Hash for Authorities {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.path.hash(state);
        self.certificates.iter().for_each(|certificate| certificate.as_ref().hash(state));
    }
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ({} certificates)", self.path, self.count())
    }
}
