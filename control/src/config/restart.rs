//! Which changes need a restart: what the process was started with cannot be exchanged
//! under running workers.

use serde_json::Value;

use crate::model::written::{Written, size, toml};
use crate::model::{Config, Dataplane, Port};

/// Each setting whose change needs a restart, with its old and new value; empty: a reload may go
/// on. The hash seed and the Maglev sizes are not among them: they are part of the Tables.
pub fn restart_needed(old: &Config, new: &Config) -> Vec<String> {
    let mut changes = Changes::default();
    changes.dataplane(&old.dataplane, &new.dataplane);
    changes.ports(&old.ports, &new.ports);
    changes.compare("admin.socket", &old.admin.socket, &new.admin.socket);
    changes.compare("admin.orders", &old.admin.orders, &new.admin.orders);
    changes.0
}

#[derive(Default)]
struct Changes(Vec<String>);

impl Changes {
    fn compare(&mut self, setting: &str, old: &impl Written, new: &impl Written) {
        self.values(setting, &old.written(), &new.written());
    }

    fn values(&mut self, setting: &str, old: &Value, new: &Value) {
        if old != new {
            self.0.push(format!("{setting}: {} → {}", toml(old), toml(new)));
        }
    }

    fn dataplane(&mut self, old: &Dataplane, new: &Dataplane) {
        self.compare("dataplane.workers", &old.workers, &new.workers);
        self.compare("dataplane.hugepages", &old.hugepages, &new.hugepages);
        self.values("dataplane.memory", &size(old.memory), &size(new.memory));
        self.compare("dataplane.conntrack_entries", &old.conntrack_entries, &new.conntrack_entries);
        self.compare(
            "dataplane.conntrack_entries_v6",
            &old.conntrack_entries_v6,
            &new.conntrack_entries_v6,
        );
        self.compare("dataplane.insert_rate", &old.insert_rate, &new.insert_rate);
        self.compare("dataplane.idle", &old.idle, &new.idle);
        self.compare("dataplane.eal_args", &old.eal_args, &new.eal_args);
    }

    /// Ports are numbered by their order, so a change of the list is a change of each.
    fn ports(&mut self, old: &[Port], new: &[Port]) {
        let names = |ports: &[Port]| ports.iter().map(|p| p.name.to_string()).collect::<Vec<_>>();
        if names(old) != names(new) {
            return self.compare("ports", &names(old), &names(new));
        }
        for (old, new) in old.iter().zip(new) {
            self.port(old, new);
        }
    }

    fn port(&mut self, old: &Port, new: &Port) {
        let key = |key: &str| format!("port {:?} {key}", new.name);
        self.compare(&key("device"), &old.device, &new.device);
        self.compare(&key("bond"), &mode(old), &mode(new));
        self.compare(&key("members"), &members(old), &members(new));
        self.compare(&key("mtu"), &old.mtu, &new.mtu);
        self.compare(&key("vlan"), &old.vlan, &new.vlan);
        self.compare(&key("host_interface"), &old.host_interface, &new.host_interface);
        self.compare(&key("host_rate"), &old.host_rate, &new.host_rate);
    }
}

fn mode(port: &Port) -> String {
    let mode = port.bond.as_ref().map(|bond| bond.mode.written());
    mode.and_then(|mode| mode.as_str().map(str::to_owned)).unwrap_or_default()
}

fn members(port: &Port) -> Vec<String> {
    port.bond.as_ref().map(|bond| bond.members.clone()).unwrap_or_default()
}
