//! A folder with files, and the command run in it.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Two primaries in zone a, one failover backend.
pub(crate) const CONFIG: &str = r#"
[dataplane]
hash_seed = "000102030405060708090a0b0c0d0e0f"
maglev_table_size = 251
[[port]]
name = "uplink"
device = "net_null0"
addresses = ["10.0.0.2/24", "2001:db8:1::2/64"]
gateways = ["10.0.0.1"]
[encapsulation]
source = ["10.0.0.2"]
[[client_zone]]
prefix = "198.51.100.0/24"
zone = "a"
[[service]]
name = "web"
[[service.group]]
name = "rack-a"
zone = "a"
backends = [ { name = "a1", address = "10.1.0.11" }, { name = "a2", address = "10.1.0.12" } ]
[[service.group]]
name = "rack-b"
role = "failover"
backends = [ { name = "b1", address = "10.2.0.11" } ]
[[forwarding_rule]]
name = "web-v4"
address = "203.0.113.10"
protocol = "TCP"
ports = [80, 443]
service = "web"
client_allow = ["198.51.100.0/24"]
[[forwarding_rule]]
name = "web-v6"
address = "2001:db8::10"
protocol = "TCP"
ports = [80]
service = "web"
"#;

pub(crate) struct Files(TempDir);

impl Files {
    /// A folder with `w.toml`, the configuration above.
    pub(crate) fn new() -> Self {
        let files = Self(TempDir::new().expect("a folder"));
        files.write("w.toml", CONFIG);
        files
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).expect("a file");
    }

    /// Runs `windrose` in another folder, so that paths in a scenario are the scenario's own.
    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        let arguments = arguments.iter().map(|a| match a.ends_with(".toml") {
            true => self.path().join(a).into_os_string(),
            false => a.into(),
        });
        let output =
            Command::new(env!("CARGO_BIN_EXE_windrose")).args(arguments).current_dir("/").output();
        Said::of(output.expect("windrose"))
    }
}

/// What a command said.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Self {
            code: output.status.code().expect("a code"),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Exit code and standard error of a refusal that printed `lines` lines before.
    #[track_caller]
    pub(crate) fn refused(&self, code: i32, message: &str) {
        assert_eq!(self.code, code, "{}", self.err);
        assert!(self.err.contains(message), "{message}\n{}", self.err);
    }
}
