//! TLS. Without `tls_ca` there is no look at the certificate: a check asks whether a server answers, and
//! the address that it is asked at is the operator's own. So do the clouds' checks.

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

use super::deadline::Deadline;
use super::{Stream, certificate};
use crate::health::question::Question;
use crate::health::report::{Reason, Step};
use crate::model::CheckProtocol;

const HTTP_1: &[u8] = b"http/1.1";
const HTTP_2: &[u8] = b"h2";

/// TLS clients that take every certificate, by what they offer; others are made for each probe.
#[derive(Clone)]
pub(super) struct Tls {
    provider: Arc<CryptoProvider>,
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
        let any = || Arc::new(AnyCertificate(Arc::clone(&provider)));
        let [plain, http1, http2] =
            [&[][..], &[HTTP_1], &[HTTP_2]].map(|alpn| connector(&provider, any(), alpn));
        Self { provider, plain, http1, http2 }
    }

    /// What a question is asked with. To make one costs microseconds beside a handshake's hundreds, and
    /// leaves nothing to keep in step with reloads.
    fn connector(&self, question: &Question) -> Result<TlsConnector, Reason> {
        let (anyone, alpn) = match question.ask.protocol {
            CheckProtocol::Http2 | CheckProtocol::Grpc => (&self.http2, &[HTTP_2][..]),
            CheckProtocol::Https => (&self.http1, &[HTTP_1][..]),
            CheckProtocol::Http | CheckProtocol::Tcp | CheckProtocol::Ssl => (&self.plain, &[][..]),
        };
        let Some(authorities) = &question.ask.tls_ca else { return Ok(anyone.clone()) };
        let verifier = certificate::verifier(authorities, &self.provider)?;
        Ok(connector(&self.provider, verifier, alpn))
    }

    /// The handshake.
    pub(super) async fn over<S: Stream>(
        &self,
        stream: S,
        question: &Question,
        address: IpAddr,
        deadline: Deadline,
    ) -> Result<TlsStream<S>, Reason> {
        let connector = self.connector(question)?;
        let name = server_name(&question.ask.host, address);
        let shaken = deadline.within(Step::Tls, connector.connect(name, stream)).await?;
        let stream = shaken.map_err(failed)?;
        let needs = matches!(question.ask.protocol, CheckProtocol::Http2 | CheckProtocol::Grpc);
        let chosen = stream.get_ref().1.alpn_protocol();
        if needs && chosen != Some(HTTP_2) { Err(Reason::NoHttp2) } else { Ok(stream) }
    }
}

/// The host's name without its port; an address is not sent as a name (RFC 6066, 3).
fn server_name(host: &str, address: IpAddr) -> ServerName<'static> {
    let authority = host.parse::<Authority>().ok();
    let name = authority.and_then(|a| ServerName::try_from(a.host().to_owned()).ok());
    name.unwrap_or_else(|| ServerName::from(address))
}

fn connector(
    provider: &Arc<CryptoProvider>,
    verifier: Arc<dyn ServerCertVerifier>,
    alpn: &[&[u8]],
) -> TlsConnector {
    let versions = rustls::DEFAULT_VERSIONS;
    let builder = ClientConfig::builder_with_provider(Arc::clone(provider));
    let builder = builder.with_protocol_versions(versions);
    let builder = builder.expect("ring has suites for all of rustls's versions").dangerous();
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
        _ => certificate::fault(&error).unwrap_or_else(|| Reason::Tls(error.to_string())),
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
