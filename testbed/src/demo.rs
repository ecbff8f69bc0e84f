//! The steps of `make demo`: each does one thing, prints it for a person, and says whether it
//! went as it should.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::address::{BACKENDS, Family, backend_name, vip};
use crate::appliance::{Appliance, Counters, TOTAL};
use crate::client::{Connection, noise};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::topology::Topology;

/// Requests per row of the first table.
const REQUESTS: usize = 60;
/// New requests after a backend was taken out.
const AFTERWARDS: usize = 200;
/// The upload's size, bytes, and how it is sent.
const UPLOAD: usize = 20_000_000;
const PIECE: usize = 1_000_000;

/// How often each backend answered.
type Answers = BTreeMap<String, usize>;

/// What is where.
pub fn picture(driver: &str) -> String {
    format!(
        "
            requests                   IPIP or GRE                .-- b1  10.0.2.11  nginx
   client ------------> windrose ------------------> bridge ------+-- b2  10.0.2.12  nginx
  10.0.1.2              10.0.1.1                                  '-- b3  10.0.2.13  nginx
     ^                  {driver:<14}                            |
     '----------------- answers, past the appliance --------------'
"
    )
}

/// Asks every VIP through every tunnel and prints who answered. The tunnel changes by reload.
pub fn requests(topology: &Topology, appliance: &mut Appliance, config: &Config) -> Result<bool> {
    print!("  {:<7}{:<24}{:<12}", "tunnel", "VIP", "backends");
    (0..BACKENDS).for_each(|i| print!("{:>5}", backend_name(i)));
    println!("   answered");
    let mut good = true;
    for kind in ["ipip", "gre"] {
        appliance.reload(&config.clone().kind(kind))?;
        for (front, back) in pairs() {
            let vip = vip(front, back);
            let answers = curl(topology, vip, REQUESTS)?;
            print!("  {kind:<7}{:<24}{:<12}", vip.to_string(), format!("over IPv{}", back.digit()));
            good &= row(&answers, REQUESTS) && answers.len() == BACKENDS;
        }
    }
    Ok(good)
}

/// IPv4 and IPv6 first, then the mixed ones.
fn pairs() -> [(Family, Family); 4] {
    use Family::{V4, V6};
    [(V4, V4), (V6, V6), (V4, V6), (V6, V4)]
}

/// Prints the counts of one row; whether they add up to what was asked.
fn row(answers: &Answers, asked: usize) -> bool {
    for index in 0..BACKENDS {
        print!("{:>5}", answers.get(&backend_name(index)).copied().unwrap_or(0));
    }
    let answered: usize = answers.values().sum();
    println!("   {answered}/{asked}");
    answered == asked
}

/// Asks with curl, a new connection each time.
fn curl(topology: &Topology, vip: IpAddr, requests: usize) -> Result<Answers> {
    let host = if vip.is_ipv6() { format!("[{vip}]") } else { vip.to_string() };
    let mut command = topology.client.command("curl --silent --max-time 5 --globoff");
    command.args(["--header", "Connection: close"]);
    let url = format!("http://{host}/");
    command.args(std::iter::repeat_n(url, requests));
    // An answer that is missing shows in the sum.
    let output = command.output().map_err(|source| Error::Io { what: "curl".into(), source })?;
    let mut answers = Answers::new();
    for name in String::from_utf8_lossy(&output.stdout).lines() {
        *answers.entry(name.to_owned()).or_default() += 1;
    }
    Ok(answers)
}

/// Takes a backend out while it receives an upload and holds an idle connection.
pub fn removal(topology: &Topology, appliance: &mut Appliance, config: &Config) -> Result<bool> {
    let vip = vip(Family::V4, Family::V4);
    let mut upload = Connection::open(&topology.client, vip)?;
    let name = upload.who()?;
    let mut idle = connection_to(topology, vip, &name)?;
    let body = noise(UPLOAD);
    let (first, rest) = body.split_at(UPLOAD / 4);
    upload.begin_upload("demo", body.len())?;
    send_slowly(&mut upload, first)?;
    println!("  An upload of 20 MB to {name} is a quarter done; another connection to it is open.");

    appliance.reload(&config.clone().without(&name))?;
    println!("  {name} is taken out of windrose.toml, and SIGHUP sent. It drains for 60 s:");
    let answers = curl(topology, vip, AFTERWARDS)?;
    print!("    {AFTERWARDS} new connections:            ");
    let mut good = row(&answers, AFTERWARDS);
    good &= !answers.contains_key(&name);

    send_slowly(&mut upload, rest)?;
    upload.end_upload()?;
    let backend = topology.backends.iter().find(|b| b.name == name);
    let same = backend.map(|b| b.upload("demo")).transpose()?.is_some_and(|got| got == body);
    println!("    the upload:                     {}", identical(same, &name));
    let still = idle.who()?;
    println!("    the idle connection, used:      answered by {still}");
    Ok(good && same && still == name)
}

fn identical(same: bool, name: &str) -> String {
    match same {
        true => format!("complete, {name} has the same 20,000,000 bytes"),
        false => format!("BROKEN, {name} has other bytes"),
    }
}

/// A connection that the same backend took.
fn connection_to(topology: &Topology, vip: IpAddr, name: &str) -> Result<Connection> {
    for _ in 0..100 {
        let mut connection = Connection::open(&topology.client, vip)?;
        if connection.who()? == name {
            return Ok(connection);
        }
    }
    Err(Error::Unexpected(format!("none of 100 connections went to {name}")))
}

/// About 10 MB/s, so that the upload is really under way.
fn send_slowly(connection: &mut Connection, bytes: &[u8]) -> Result<()> {
    for piece in bytes.chunks(PIECE) {
        connection.send(piece)?;
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// The counters that are not 0, and their sum.
pub fn counters(counters: &Counters) -> bool {
    let (total, parts): (Vec<_>, Vec<_>) = counters.iter().partition(|(name, _)| *name == TOTAL);
    for (name, count) in parts.into_iter().chain(total).filter(|(_, count)| **count > 0) {
        println!("  {name:<24}{count:>10}");
    }
    counters.get("forwarded").is_some_and(|&count| count > 0)
}
