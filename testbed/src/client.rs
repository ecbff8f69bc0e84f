//! HTTP/1.1 over plain sockets that live in the client's namespace.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, sockopt};

use crate::error::{Context, Error, Result};
use crate::netns::Namespace;

const PATIENCE: Duration = Duration::from_secs(5);

/// One TCP connection, kept open between requests.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<TcpStream>,
    host: SocketAddr,
}

impl Connection {
    /// Connects from `from` to port 80 of a VIP.
    pub fn open(from: &Namespace, vip: IpAddr) -> Result<Self> {
        let host = SocketAddr::new(vip, 80);
        let stream = from.enter(|| TcpStream::connect_timeout(&host, PATIENCE))?;
        let stream = stream.context(format!("connecting to {host}"))?;
        Self::over(stream, host)
    }

    /// Connects from a source port that the caller chooses, and frees it at once when dropped: the
    /// same flow can be had again.
    pub fn open_from(from: &Namespace, source: u16, vip: IpAddr) -> Result<Self> {
        let host = SocketAddr::new(vip, 80);
        let stream = from.enter(|| connect_from(source, host))?;
        let stream = stream.context(format!("connecting from port {source} to {host}"))?;
        Self::over(stream, host)
    }

    fn over(stream: TcpStream, host: SocketAddr) -> Result<Self> {
        stream.set_read_timeout(Some(PATIENCE)).context("a read timeout")?;
        stream.set_write_timeout(Some(PATIENCE)).context("a write timeout")?;
        Ok(Self { stream: BufReader::new(stream), host })
    }

    /// Asks who is there: the backend's name.
    pub fn who(&mut self) -> Result<String> {
        self.send(format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", self.host).as_bytes())?;
        let body = self.answer()?;
        Ok(String::from_utf8_lossy(&body).trim().to_owned())
    }

    /// Uploads as `/upload/<name>`, all at once.
    pub fn upload(&mut self, name: &str, body: &[u8]) -> Result<()> {
        self.begin_upload(name, body.len())?;
        self.send(body)?;
        self.end_upload()
    }

    /// Announces an upload of `length` bytes, to be sent piece by piece with [`Self::send`].
    pub fn begin_upload(&mut self, name: &str, length: usize) -> Result<()> {
        let host = self.host;
        let head = format!(
            "PUT /upload/{name} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n"
        );
        self.send(head.as_bytes())
    }

    /// Sends bytes of a request.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let stream = self.stream.get_mut();
        stream.write_all(bytes).context(format!("sending to {}", self.host))
    }

    /// Waits until the backend has said that it has it.
    pub fn end_upload(&mut self) -> Result<()> {
        self.answer().map(drop)
    }

    fn answer(&mut self) -> Result<Vec<u8>> {
        let status = self.line()?;
        if !status.starts_with("HTTP/1.1 2") {
            return Err(Error::Unexpected(format!("{} answered `{status}`", self.host)));
        }
        let mut length = 0;
        loop {
            let line = self.line()?;
            match line.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().unwrap_or(0);
                }
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).context(format!("reading from {}", self.host))?;
        Ok(body)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line);
        match read.context(format!("reading from {}", self.host))? {
            0 => Err(Error::Unexpected(format!("{} closed the connection", self.host))),
            _ => Ok(line.trim_end().to_owned()),
        }
    }
}

fn connect_from(source: u16, host: SocketAddr) -> std::io::Result<TcpStream> {
    let (family, any) = match host {
        SocketAddr::V4(_) => (AddressFamily::INET, IpAddr::from(Ipv4Addr::UNSPECIFIED)),
        SocketAddr::V6(_) => (AddressFamily::INET6, IpAddr::from(Ipv6Addr::UNSPECIFIED)),
    };
    let socket = rustix::net::socket(family, SocketType::STREAM, None)?;
    // Closing resets the connection instead of leaving it in TIME_WAIT.
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(PATIENCE))?;
    rustix::net::bind(&socket, &SocketAddr::new(any, source))?;
    rustix::net::connect(&socket, &host)?;
    Ok(socket.into())
}

/// One request over a connection of its own: the backend's name.
pub fn ask(from: &Namespace, vip: IpAddr) -> Result<String> {
    Connection::open(from, vip)?.who()
}

/// Whether somebody takes a connection to a VIP within as long as this.
pub fn taken(from: &Namespace, vip: IpAddr, patience: Duration) -> Result<bool> {
    let host = SocketAddr::new(vip, 80);
    from.enter(|| TcpStream::connect_timeout(&host, patience).is_ok())
}

/// Bytes that are no pattern a shifted or repeated segment would also match.
pub fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[7]
    };
    (0..length).map(|_| next()).collect()
}

/// Whether a port of an address gives no connection within a second.
pub fn refused(from: &Namespace, address: IpAddr, port: u16) -> Result<bool> {
    let host = SocketAddr::new(address, port);
    from.enter(|| TcpStream::connect_timeout(&host, Duration::from_secs(1)).is_err())
}
