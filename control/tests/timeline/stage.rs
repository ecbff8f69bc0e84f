//! A case's events, written as a scenario's and run one after the other.

use std::collections::HashMap;
use std::path::Path;

use control::config::{self, Environment};
use control::model::Config;
use control::simulate::{Scenario, Simulator};
use serde_json::Value;

use crate::case::Case;
use crate::desk::WorkerDesk;

/// The simulator of one case.
pub(crate) struct Stage {
    case: Case,
    simulator: Simulator<WorkerDesk>,
}

fn load(text: &str) -> Config {
    let loaded = config::parse("case.toml", text, &Environment::default());
    loaded.unwrap_or_else(|errors| panic!("{errors}\n{text}")).config
}

impl Stage {
    /// A process that has read the file and knows each backend's health and weight.
    pub(crate) fn new(case: Case) -> Self {
        let config = load(&case.toml());
        let desk = WorkerDesk::new(&config, 100).expect("memory");
        let simulator = Simulator::new(config, desk).unwrap_or_else(|e| panic!("{e}"));
        let mut stage = Self { case, simulator };
        let facts: Vec<_> =
            stage.case.initial.iter().flat_map(|backend| stage.facts(backend)).collect();
        stage.run(0, &format!("batch = [ {} ]", facts.join(", ")), &HashMap::new());
        stage
    }

    /// Runs one event of the vectors; `chosen` are the backends of the events before it.
    pub(crate) fn event(&mut self, event: &Value, chosen: &[Option<String>]) -> Value {
        let at = (event["t"].as_f64().expect("a time") * 1000.0) as u64;
        match event["type"].as_str().expect("a type") {
            "packet" => self.run(at, &packet(event), &HashMap::new()),
            "tick" => self.run(at, "", &HashMap::new()),
            "pool_switch" => {
                let changes = event["changes"].as_array().expect("changes").clone();
                self.changes(at, &changes, chosen)
            }
            _ => self.changes(at, std::slice::from_ref(event), chosen),
        }
    }

    /// One change of several parts; files that it needs are written on the way.
    fn changes(&mut self, at: u64, changes: &[Value], chosen: &[Option<String>]) -> Value {
        let mut parts = Vec::new();
        let mut files = HashMap::new();
        for change in changes {
            parts.extend(self.change(change, chosen, &mut files));
        }
        self.run(at, &format!("batch = [ {} ]", parts.join(", ")), &files)
    }

    fn change(
        &mut self,
        change: &Value,
        chosen: &[Option<String>],
        files: &mut HashMap<String, String>,
    ) -> Vec<String> {
        match change["type"].as_str().expect("a type") {
            "health" => {
                vec![self.part("health", &id(change, chosen), "healthy", &change["healthy"])]
            }
            "weight" => vec![self.part("weight", &id(change, chosen), "weight", &change["weight"])],
            "add" => {
                self.case.add(&change["backend"]);
                let mut parts = vec![self.reload(files)];
                parts.extend(self.facts(&change["backend"]));
                parts
            }
            "remove" => self.remove(&id(change, chosen), change, files),
            other => panic!("the test does not know the event {other}"),
        }
    }

    fn remove(
        &mut self,
        id: &str,
        change: &Value,
        files: &mut HashMap<String, String>,
    ) -> Vec<String> {
        self.case.draining_timeout = change["draining_timeout"].as_u64().unwrap_or(0);
        let path = self.path(id);
        let by_file = self.case.remove(id);
        let mut parts = vec![self.reload(files)];
        if !by_file {
            parts.push(format!("{{ drain = {{ service = \"s\", backend = \"{path}\" }} }}"));
        }
        parts
    }

    fn reload(&self, files: &mut HashMap<String, String>) -> String {
        let name = format!("{}.toml", files.len());
        files.insert(name.clone(), self.case.toml());
        format!("{{ reload = \"{name}\" }}")
    }

    /// A backend's health and, with weights, its weight.
    fn facts(&self, backend: &Value) -> Vec<String> {
        let id = backend["id"].as_str().expect("an id");
        vec![
            self.part("health", id, "healthy", &backend["healthy"]),
            self.part("weight", id, "weight", &backend["weight"]),
        ]
    }

    fn part(&self, what: &str, id: &str, key: &str, value: &Value) -> String {
        let path = self.path(id);
        format!("{{ {what} = {{ service = \"s\", backend = \"{path}\", {key} = {value} }} }}")
    }

    fn path(&self, id: &str) -> String {
        self.case.backend(id).expect("a backend of the case").path()
    }

    fn run(&mut self, at: u64, body: &str, files: &HashMap<String, String>) -> Value {
        let text = format!("[[event]]\nat = \"{at}ms\"\n{body}\n");
        let scenario = Scenario::parse("case", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let file = |path: &Path| Ok(load(&files[path.to_str().expect("a name")]));
        let result = self.simulator.run(&scenario.events[0], &file);
        let result = result.unwrap_or_else(|e| panic!("{e}\n{text}"));
        serde_json::to_value(result).expect("JSON")
    }
}

/// The backend that an event names; "@N" is the one chosen at event N.
fn id(change: &Value, chosen: &[Option<String>]) -> String {
    let name = change["backend"].as_str().expect("a backend");
    match name.strip_prefix('@') {
        Some(event) => {
            let event: usize = event.parse().expect("an event's number");
            chosen[event].clone().expect("a packet that was forwarded")
        }
        None => name.to_owned(),
    }
}

fn packet(event: &Value) -> String {
    let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let protocol = match event["proto"].as_str() {
        Some("other") => "253".to_owned(),
        Some(name) => format!("\"{name}\""),
        None => event["proto"].to_string(),
    };
    let mut fields = vec![
        format!("protocol = {protocol}"),
        format!("src = \"{}\"", text("src_ip")),
        format!("dst = \"{}\"", text("dst_ip")),
    ];
    for (key, port) in [("sport", "src_port"), ("dport", "dst_port")] {
        fields.extend(event[port].as_u64().map(|number| format!("{key} = {number}")));
    }
    let flags = [("S", "syn"), ("F", "fin"), ("R", "rst")];
    let flags: String =
        flags.iter().filter(|(_, key)| event[*key] == true).map(|(flag, _)| *flag).collect();
    if protocol == "\"tcp\"" {
        fields.push(format!("flags = \"{flags}\""));
    }
    if event["fragment"] == true {
        let part = if event["src_port"].is_null() { "middle" } else { "first" };
        fields.push(format!("fragment = \"{part}\", id = 7"));
    }
    format!("packet = {{ {} }}", fields.join(", "))
}
