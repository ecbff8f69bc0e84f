//! A case's configuration, written as a file.

use std::fmt::Write;

use serde_json::Value;

/// A backend of a case.
#[derive(Clone)]
pub(crate) struct Backend {
    pub(crate) id: String,
    pub(crate) failover: bool,
    /// Removed by the operator's verb, where the file cannot do without it (E-8).
    pub(crate) drained: bool,
    address: usize,
}

impl Backend {
    /// `group/name`
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", if self.failover { "f" } else { "p" }, self.id)
    }
}

/// What the file says at the moment.
#[derive(Clone)]
pub(crate) struct Case {
    config: Value,
    pub(crate) initial: Vec<Value>,
    pub(crate) backends: Vec<Backend>,
    pub(crate) draining_timeout: u64,
    addresses: usize,
}

impl Case {
    pub(crate) fn new(config: &Value, backends: &Value) -> Self {
        let initial = backends.as_array().expect("backends").clone();
        let mut case = Self {
            config: config.clone(),
            initial: initial.clone(),
            backends: Vec::new(),
            draining_timeout: 0,
            addresses: 0,
        };
        initial.iter().for_each(|backend| case.add(backend));
        case
    }

    /// Another backend: an object, or one that was drained and comes back.
    pub(crate) fn add(&mut self, backend: &Value) {
        let id = backend["id"].as_str().expect("an id").to_owned();
        self.backends.retain(|b| b.id != id);
        self.addresses += 1;
        self.backends.push(Backend {
            id,
            failover: backend["role"] == "failover",
            drained: false,
            address: self.addresses,
        });
    }

    pub(crate) fn backend(&self, id: &str) -> Option<&Backend> {
        self.backends.iter().find(|b| b.id == id)
    }

    /// Takes a backend out of the file; `false` where the file would not be valid without it.
    pub(crate) fn remove(&mut self, id: &str) -> bool {
        let role = self.backend(id).expect("a backend of the case").failover;
        let others = self.backends.iter().any(|b| b.failover == role && b.id != id);
        match others {
            true => self.backends.retain(|b| b.id != id),
            false => self.backends.iter_mut().filter(|b| b.id == id).for_each(|b| b.drained = true),
        }
        others
    }

    /// The file.
    pub(crate) fn toml(&self) -> String {
        let mut text = self.service();
        for (group, failover) in [("p", false), ("f", true)] {
            let backends: Vec<_> =
                self.backends.iter().filter(|b| b.failover == failover).map(backend).collect();
            if !backends.is_empty() {
                let role = if failover { "failover" } else { "primary" };
                let backends = backends.join(", ");
                let _ = writeln!(text, "[[service.group]]\nname = \"{group}\"\nrole = \"{role}\"");
                let _ = writeln!(text, "backends = [ {backends} ]");
            }
        }
        text + &rules()
    }

    fn service(&self) -> String {
        let config = &self.config;
        let azure = config["scheme"] == "azure";
        let profile = match config["scheme"].as_str().expect("a scheme") {
            "external" => "gcp-external",
            "internal" => "gcp-internal",
            other => other,
        };
        let mut text = format!(
            "[[service]]\nname = \"s\"\nprofile = \"{profile}\"\nmaglev_table_size = 251\n\
             connection_draining_timeout = \"{}s\"\n",
            self.draining_timeout
        );
        let keys = [
            ("affinity", if azure { "distribution" } else { "session_affinity" }),
            ("mode", "tracking_mode"),
            ("persistence", "connection_persistence_on_unhealthy_backends"),
        ];
        for (name, key) in keys {
            if let Some(value) = config[name].as_str().filter(|_| !azure || name == "affinity") {
                let value = if azure { distribution(value) } else { value };
                let _ = writeln!(text, "{key} = \"{value}\"");
            }
        }
        if let Some(seconds) = config["idle_timeout"].as_u64() {
            let _ = writeln!(text, "idle_timeout = \"{seconds}s\"");
        }
        if config["weighted"] == true {
            text += "locality_lb_policy = \"WEIGHTED_MAGLEV\"\n";
            text += "[service.health_check]\nprotocol = \"HTTP\"\nport = 80\n";
        }
        text + &self.failover_policy()
    }

    fn failover_policy(&self) -> String {
        let policy = &self.config["failover_policy"];
        if !policy.is_object() || !self.backends.iter().any(|b| b.failover) {
            return String::new();
        }
        format!(
            "[service.failover_policy]\nfailover_ratio = {}\ndrop_traffic_if_unhealthy = {}\n\
             connection_draining_on_failover = {}\n",
            policy["ratio"],
            policy["drop_if_all_unhealthy"],
            policy["connection_draining_on_failover"]
        )
    }
}

fn distribution(affinity: &str) -> &str {
    match affinity {
        "NONE" | "CLIENT_IP_PORT_PROTO" => "Default",
        "CLIENT_IP" => "SourceIP",
        "CLIENT_IP_PROTO" => "SourceIPProtocol",
        other => other,
    }
}

fn backend(backend: &Backend) -> String {
    let (high, low) = (backend.address / 250, backend.address % 250 + 1);
    format!("{{ name = \"{}\", address = \"10.1.{high}.{low}\" }}", backend.id)
}

/// Every address that the cases send to, for every protocol.
fn rules() -> String {
    let addresses = ["192.0.2.1", "203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.9"];
    let rule = |address| {
        format!(
            "[[forwarding_rule]]\nname = \"to-{address}\"\naddress = \"{address}\"\n\
             protocol = \"L3_DEFAULT\"\nports = \"ALL\"\nservice = \"s\"\n"
        )
    };
    addresses.map(rule).concat()
}
