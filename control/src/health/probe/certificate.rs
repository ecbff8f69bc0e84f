//! Whether the authorities of `tls_ca` vouch for a server's certificate; rustls decides.

use std::io;
use std::sync::Arc;

use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::ServerCertVerifier;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::{CertificateError, Error};

use crate::health::report::Reason;
use crate::model::Authorities;

pub(super) fn verifier(
    authorities: &Authorities,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, Reason> {
    let roots = Arc::clone(authorities.roots());
    let builder = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider));
    let verifier = builder.build().map_err(|error| Reason::Local(error.to_string()))?;
    Ok(verifier)
}

/// What is wrong with the certificate, if that is what the handshake failed of. The same fault has the
/// same words every time.
pub(super) fn fault(error: &io::Error) -> Option<Reason> {
    match error.get_ref()?.downcast_ref()? {
        Error::InvalidCertificate(fault) => Some(Reason::Certificate(words(fault))),
        Error::NoCertificatesPresented => Some(Reason::Certificate("there is none".into())),
        _ => None,
    }
}

fn words(fault: &CertificateError) -> String {
    use CertificateError as Fault;
    match fault {
        Fault::Expired | Fault::ExpiredContext { .. } => "it has expired".into(),
        Fault::NotValidYet | Fault::NotValidYetContext { .. } => "it is not valid yet".into(),
        Fault::UnknownIssuer => "no authority of tls_ca vouches for it".into(),
        Fault::BadSignature => "its signature is wrong".into(),
        Fault::InvalidPurpose | Fault::InvalidPurposeContext { .. } => {
            "it is not one for servers".into()
        }
        Fault::NotValidForName => "it is for another name".into(),
        Fault::NotValidForNameContext { expected, presented } => {
            let names = presented.join(", ");
            format!("it is not for {}, but for [{names}]", expected.to_str())
        }
        // What webpki finds beyond that has no type of rustls's.
        Fault::Other(fault) if fault.0.to_string() == "CaUsedAsEndEntity" => {
            "it is an authority's own, not a server's".into()
        }
        other => other.to_string(),
    }
}
