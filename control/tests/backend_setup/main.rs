//! `windrose backend-setup`: what is printed for each encapsulation, word for word, and that shells and
//! YAML readers take it. That it works is shown on a real kernel, by testbed/tests/backend_setup.rs.
//!
//! `WINDROSE_GOLDEN=write` writes the golden files anew.

mod golden;
mod readers;
mod steps;

use control::backend_setup::Setup;
use control::config::{self, Environment};
use control::model::Config;

/// Two backends of IPv4, a VIP of each family.
const BASE: &str = r#"
[dataplane]
hash_seed = "000102030405060708090a0b0c0d0e0f"
[[port]]
name = "uplink"
device = "net_null0"
addresses = ["10.0.1.1/24", "2001:db8:1::1/64"]
[[service]]
name = "web"
encapsulation = { ENCAPSULATION }
[[service.group]]
name = "rack-a"
backends = [ BACKENDS ]
"#;

const FOUR: &str =
    r#"{ name = "a1", address = "10.0.1.11" }, { name = "a2", address = "10.0.1.12" }"#;
const SIX: &str = r#"{ name = "a3", address = "2001:db8:1::13" }"#;

fn rule(name: &str, address: &str, protocol: &str) -> String {
    let ports = if protocol == "L3_DEFAULT" { "\"ALL\"" } else { "[80]" };
    format!(
        "[[forwarding_rule]]\nname = \"{name}\"\naddress = \"{address}\"\nprotocol = \"{protocol}\"\n\
         ports = {ports}\nservice = \"web\"\n"
    )
}

/// One service with these backends and VIPs.
fn config(encapsulation: &str, backends: &str, vips: &[&str]) -> Config {
    let mut text = BASE.replace("ENCAPSULATION", encapsulation).replace("BACKENDS", backends);
    for (index, vip) in vips.iter().enumerate() {
        text += &rule(&format!("rule-{index}"), vip, "TCP");
    }
    read(&text)
}

fn read(text: &str) -> Config {
    match config::parse("windrose.toml", text, &Environment::default()) {
        Ok(loaded) => loaded.config,
        Err(errors) => panic!("{}", errors.render(false)),
    }
}

fn setup(encapsulation: &str, backends: &str, vips: &[&str]) -> Setup {
    Setup::new(&config(encapsulation, backends, vips), "web", None).expect("a service with a VIP")
}
