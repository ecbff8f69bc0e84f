//! TLS, without a look at the certificate: a check asks whether a server answers, and the address
//! that it is asked at is the operator's own. So do the clouds' checks.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use hyper::http::uri::Authority;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, ClientConfig, DigitallySignedStruct, SignatureScheme};

use super::Stream;
use super::deadline::Deadline;
use crate::health::question::Question;
use crate::health::report::{Reason, Step};
use crate::model::CheckProtocol;

const HTTP_1: &[u8] = b"http/1.1";
const HTTP_2: &[u8] = b"h2";

/// TLS clients, by what they offer.
#[derive(Clone)]
pub(super) struct Tls {
    plain: TlsConnector,
    http1: TlsConnector,
    http2: TlsConnector,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    pub(super) fn new() -> Self {
        let provider = Arc::new(ring::default_provider());
        let [plain, http1, http2] =
            [&[][..], &[HTTP_1], &[HTTP_2]].map(|alpn| connector(&provider, alpn));
        Self { plain, http1, http2 }
    }

    /// The handshake.
    pub(super) async fn over<S: Stream>(
        &self,
        stream: S,
        question: &Question,
        address: IpAddr,
        deadline: Deadline,
    ) -> Result<TlsStream<S>, Reason> {
        let (connector, wants) = match question.ask.protocol {
            CheckProtocol::Http2 | CheckProtocol::Grpc => (&self.http2, Some(HTTP_2)),
            CheckProtocol::Https => (&self.http1, None),
            CheckProtocol::Http | CheckProtocol::Tcp | CheckProtocol::Ssl => (&self.plain, None),
        };
        let name = server_name(&question.ask.host, address);
        let shaken = deadline.within(Step::Tls, connector.connect(name, stream)).await?;
        let stream = shaken.map_err(failed)?;
        let chosen = stream.get_ref().1.alpn_protocol();
        if wants.is_some() && chosen != wants { Err(Reason::NoHttp2) } else { Ok(stream) }
    }
}

/// The host's name without its port; an address is not sent as a name (RFC 6066, 3).
fn server_name(host: &str, address: IpAddr) -> ServerName<'static> {
    let authority = host.parse::<Authority>().ok();
    let name = authority.and_then(|a| ServerName::try_from(a.host().to_owned()).ok());
    name.unwrap_or_else(|| ServerName::from(address))
}

fn connector(provider: &Arc<CryptoProvider>, alpn: &[&[u8]]) -> TlsConnector {
    let versions = rustls::DEFAULT_VERSIONS;
    let builder = ClientConfig::builder_with_provider(Arc::clone(provider));
    let builder = builder.with_protocol_versions(versions);
    let builder = builder.expect("ring has suites for all of rustls's versions").dangerous();
    let verifier = Arc::new(AnyCertificate(Arc::clone(provider)));
    let mut config = builder.with_custom_certificate_verifier(verifier).with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    // Each probe is a whole handshake: a resumed one would not show a broken key.
    config.resumption = rustls::client::Resumption::disabled();
    TlsConnector::from(Arc::new(config))
}

fn failed(error: io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe => Reason::Closed(Step::Tls),
        _ => Reason::Tls(error.to_string()),
    }
}

/// Takes every certificate.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
