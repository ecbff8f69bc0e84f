//! A control thread, its background, and the program run against its socket.

use std::net::IpAddr;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use control::admin::desk::Desk;
use control::admin::picture::{Census, Connections, Entry, Link, Picture, Pictures, Wanted};
use control::admin::rates::Speed;
use control::admin::reloads::reloads;
use control::admin::{request, routes, serve, socket};
use control::config;
use control::explain::Explanation;
use control::health::Row;
use control::plan::wiring::Wiring;
use control::reload::Controller;
use control::state::{Clock, State, Who};
use serde_json::Value;
use tables::{Counters, FieldSet, Flow, Mac, Outcome, ServiceId, SlotId, Tables, Tick};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, Semaphore};

/// Two services; the second has a backend of the same name.
pub(crate) const CONFIG: &str = r#"
[dataplane]
hash_seed = "000102030405060708090a0b0c0d0e0f"
maglev_table_size = 251
[[port]]
name = "uplink"
device = "net_null0"
addresses = ["10.0.0.2/24"]
gateways = ["10.0.0.1"]
neighbours = { "10.0.0.1" = "02:00:00:00:00:01" }
[admin]
socket = "SOCKET"
orders = "ORDERS"
[[service]]
name = "web"
initial_health = "healthy"
connection_draining_timeout = "60s"
[[service.group]]
name = "rack-a"
zone = "a"
backends = [ { name = "a1", address = "10.1.0.11" }, { name = "a2", address = "10.1.0.12" } ]
[[service.group]]
name = "rack-b"
role = "failover"
backends = [ { name = "b1", address = "10.2.0.11" } ]
[[service]]
name = "dns"
session_affinity = "CLIENT_IP_NO_DESTINATION"
tracking_mode = "PER_SESSION"
[[service.group]]
name = "rack-a"
backends = [ { name = "a1", address = "10.1.0.11" } ]
[[forwarding_rule]]
name = "web-v4"
address = "203.0.113.10"
protocol = "TCP"
ports = [80, 443]
service = "web"
[[forwarding_rule]]
name = "dns-v4"
address = "203.0.113.53"
protocol = "UDP"
ports = "ALL"
service = "dns"
"#;

/// The appliance without packets.
pub(crate) struct Rig {
    folder: TempDir,
    pub(crate) pictures: Pictures,
    /// While it is set the control thread does nothing.
    pub(crate) asleep: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    control: Option<JoinHandle<()>>,
    _socket: socket::SocketFile,
    _runtime: Runtime,
}

impl Rig {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("w.toml"), text(&folder, CONFIG)).expect("writes");
        Self::on(folder)
    }

    fn on(folder: TempDir) -> Self {
        let start = Instant::now();
        let loaded = config::load(&folder.path().join("w.toml")).unwrap_or_else(|e| panic!("{e}"));
        let wiring = Wiring { macs: vec![Mac([2; 6])], ..Wiring::default() };
        let clock = Clock { tick_length: Tick::LENGTH };
        let made = Controller::new(Arc::new(loaded.config), wiring, clock, Duration::ZERO);
        let (controller, tables) = made.expect("Tables");
        let pictures = Pictures::new(picture(controller.state(), Arc::new(tables)));
        let (bell, rung) = std::sync::mpsc::channel();
        let (asker, inbox) = request::queue(move || bell.send(()).unwrap_or_default());
        let file = folder.path().join("w.toml");
        let (reloads, reloader) = reloads(&file, asker.clone(), pictures.clone());
        let counters = Arc::new(Counters::new(2));
        counters.worker(1).end(Outcome::Forwarded);
        let desk = Desk {
            start,
            file,
            pictures: pictures.clone(),
            asker,
            reloads,
            counters,
            speed: Speed::default(),
            checks: Box::new(checks),
            connections: Arc::new(Known(pictures.clone())),
            explain: Box::new(|_, question, _| {
                let words = format!("{} is explained\n", question.packet);
                Ok(Explanation { words, packet: serde_json::json!({ "verdict": "forward" }) })
            }),
            heavy: Arc::new(Semaphore::new(Desk::HEAVY)),
            orders: Mutex::new(()),
        };
        let (listener, socket) = socket::bind(&folder.path().join("s")).expect("binds");
        listener.set_nonblocking(true).expect("does not wait");
        let runtime = Runtime::new().expect("a runtime");
        runtime.spawn(reloader.run());
        let _inside = runtime.enter();
        let listener = tokio::net::UnixListener::from_std(listener).expect("listens");
        runtime.spawn(serve::serve(listener, routes::all(Arc::new(desk))));
        let (stop, asleep) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let thread = ControlThread {
            controller,
            inbox,
            pictures: pictures.clone(),
            stop: Arc::clone(&stop),
            asleep: Arc::clone(&asleep),
            start,
        };
        let control = Some(std::thread::spawn(move || thread.run(&rung)));
        drop(_inside);
        Self { folder, pictures, asleep, stop, control, _socket: socket, _runtime: runtime }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a configuration file that may name the socket and the orders.
    pub(crate) fn write(&self, name: &str, config: &str) {
        std::fs::write(self.path(name), text(&self.folder, config)).expect("writes");
    }

    /// Runs the program.
    pub(crate) fn run(&self, words: &[&str]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windrose"));
        command.args(words).arg("--socket").arg(self.path("s"));
        let output = command.output().expect("windrose");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Said {
            code: output.status.code().expect("a code"),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Runs it with `--format json`; it must succeed.
    #[track_caller]
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let said = self.run(&[words, &["--format", "json"]].concat());
        assert_eq!((said.code, &*said.err), (0, ""), "{words:?}");
        serde_json::from_str(&said.out).expect("JSON")
    }

    /// Runs it; it must succeed.
    #[track_caller]
    pub(crate) fn tell(&self, words: &[&str]) -> String {
        let said = self.run(words);
        assert_eq!((said.code, &*said.err), (0, ""), "{words:?}");
        said.out
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.asleep.store(false, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
        if let Some(Err(panic)) = self.control.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
    }
}

fn text(folder: &TempDir, config: &str) -> String {
    let path = |name| folder.path().join(name).display().to_string();
    config.replace("SOCKET", &path("s")).replace("ORDERS", &path("orders.json"))
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

struct ControlThread {
    controller: Controller,
    inbox: request::Inbox,
    pictures: Pictures,
    stop: Arc<AtomicBool>,
    asleep: Arc<AtomicBool>,
    start: Instant,
}

impl ControlThread {
    fn run(mut self, rung: &std::sync::mpsc::Receiver<()>) {
        while !self.stop.load(Ordering::Relaxed) {
            let _ = rung.recv_timeout(Duration::from_millis(10));
            if self.asleep.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
            let mut answered = self.inbox.answer(&mut self.controller, self.start.elapsed());
            if let Some(tables) = answered.tables.take() {
                self.pictures.publish(picture(self.controller.state(), Arc::new(tables)));
            }
            for file in std::mem::take(&mut answered.files) {
                let before = Arc::clone(self.controller.state());
                let tables = self.controller.reload(&file.config, self.start.elapsed());
                let published = tables.map(|tables| {
                    let generation = tables.generation;
                    self.pictures.publish(picture(self.controller.state(), Arc::new(tables)));
                    generation
                });
                file.end(before, published);
            }
            answered.tell();
        }
    }
}

fn picture(state: &Arc<State>, tables: Arc<Tables>) -> Picture {
    Picture {
        state: Arc::clone(state),
        tables,
        links: vec![Link {
            up: Some(true),
            losses: vec![("rx_missed", 3), ("tx_errors", 0)],
            bond: None,
        }],
        lagging: Vec::new(),
        census: Some(Arc::new(Two)),
    }
}

/// One backend whose check has been answered, one that nobody has asked yet.
fn checks() -> Vec<Row> {
    let row = |backend: &str, address: [u8; 4], answer| Row {
        who: Who { service: "web".into(), backend: backend.into(), address: address.into() },
        question: "HTTP GET / at port 80".into(),
        healthy: true,
        decided: true,
        answer,
        answered: None,
        since: Some(Duration::ZERO),
        against: 0,
        weight: None,
        weight_faults: 0,
    };
    vec![
        row("rack-a/a1", [10, 1, 0, 11], Some(Err("HTTP 503".into()))),
        row("rack-a/a2", [10, 1, 0, 12], None),
    ]
}

/// Two connections on the first backend.
struct Two;

impl Census for Two {
    fn totals(&self) -> (u64, u64, u64) {
        (2, 0, 1)
    }

    fn of_service(&self, _: ServiceId) -> u64 {
        2
    }

    fn of_slot(&self, slot: SlotId) -> u64 {
        if slot.get() == 0 { 2 } else { 0 }
    }

    fn began(&self) -> Tick {
        Tick(0)
    }
}

/// Connections of two clients to the first service, and a session of the second.
struct Known(Pictures);

impl Connections for Known {
    fn walk(
        &self,
        wanted: &Wanted,
        _: (&Tables, Tick),
        visit: &mut dyn FnMut(&Entry) -> ControlFlow<()>,
    ) {
        for entry in self.entries() {
            let is = |one: IpAddr, prefix: Option<ipnet::IpNet>| {
                prefix.is_none_or(|prefix| prefix.contains(&one))
            };
            let taken = wanted.service.is_none_or(|service| service == entry.key.service())
                && wanted.slot.is_none_or(|slot| slot == entry.slot)
                && is(entry.key.flow().src(), wanted.clients)
                && entry.vip().map_or(wanted.vips.is_none(), |vip| is(vip, wanted.vips));
            if taken && visit(&entry).is_break() {
                return;
            }
        }
    }
}

impl Known {
    fn entries(&self) -> Vec<Entry> {
        let picture = self.0.newest();
        let slot = |service: &str, path: &str| {
            let service = picture.state.service(service).expect("known");
            let backend = service.backends.iter().find(|b| *b.path == *path).expect("known");
            (service.id, backend.slot)
        };
        let web = |client: u8, port, path| {
            let (id, slot) = slot("web", path);
            let flow = Flow::v4([198, 51, 100, client], [203, 0, 113, 10], 6, port, 443);
            (flow.key(FieldSet::FIVE_TUPLE, id), slot)
        };
        let (dns, on) = slot("dns", "rack-a/a1");
        let session = Flow::v4([198, 51, 100, 9], [203, 0, 113, 53], 17, 5, 53);
        let keys = [
            web(7, 40_000, "rack-a/a1"),
            web(7, 40_001, "rack-a/a2"),
            web(8, 40_000, "rack-a/a1"),
            (session.key(FieldSet::ONE_TUPLE, dns), on),
        ];
        let entry = |(key, slot)| Entry { key, slot, last_seen: Tick(0), confirmed: true };
        keys.map(entry).into()
    }
}
