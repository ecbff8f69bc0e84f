//! W-8: where a check of the VIP (`target = "vip"`) could not leave, or its answer not come back, the
//! file is refused, to the letter.

use std::net::IpAddr;

use control::config::{self, Diagnostics, Environment, Loaded};

const INSTEAD: &str = "or: target = \"address\" asks the backends' own addresses, and does not notice that a VIP is missing";

/// A port, and whether the service checks its VIP.
struct File<'a> {
    host_interface: &'a str,
    addresses: &'a str,
    vips: &'a [&'a str],
    target: &'a str,
}

const SOUND: File<'_> = File {
    host_interface: "wr-up",
    addresses: "\"10.0.0.2/24\", \"2001:db8::2/64\"",
    vips: &["203.0.113.10", "2001:db8:9::10"],
    target: "vip",
};

fn load(file: &File<'_>, local: &[IpAddr]) -> Result<Loaded, Diagnostics> {
    let File { host_interface, addresses, vips, target } = file;
    let rules = vips.iter().enumerate().map(|(number, vip)| {
        format!(
            "[[forwarding_rule]]\nname = \"r{number}\"\naddress = \"{vip}\"\nprotocol = \"TCP\"\nports = [80]\n\
             service = \"web\"\n"
        )
    });
    let text = format!(
        "[dataplane]\nhash_seed = \"000102030405060708090a0b0c0d0e0f\"\n\
         [[port]]\nname = \"up\"\ndevice = \"net_null0\"\nhost_interface = \"{host_interface}\"\naddresses = [{addresses}]\n\
         [[service]]\nname = \"web\"\n\
         health_check = {{ protocol = \"HTTP\", port = 80, target = \"{target}\" }}\n{}",
        rules.collect::<String>()
    );
    let environment = Environment { local_addresses: local.to_vec(), ..Environment::default() };
    config::parse("windrose.toml", &text, &environment)
}

/// What is refused, each with its cure.
#[track_caller]
fn refused(file: &File<'_>, local: &[IpAddr]) -> Vec<(String, String)> {
    let errors = load(file, local).expect_err("refused");
    let told = errors.items().iter().filter(|item| item.severity == config::Severity::Error);
    told.map(|item| (item.message.clone(), item.help.clone())).collect()
}

fn expected(why: &str, cure: &str) -> (String, String) {
    let place = "service \"web\": health_check: target = \"vip\"";
    (format!("{place}: {why}"), format!("{cure}; {INSTEAD}"))
}

#[test]
fn a_sound_file_is_taken_and_so_is_every_other_with_the_backends_addresses_as_target() {
    let vip: IpAddr = "203.0.113.10".parse().expect("an address");
    assert!(load(&SOUND, &[]).is_ok());
    for file in [
        File { host_interface: "", target: "address", ..SOUND },
        File { addresses: "\"10.0.0.2/24\"", target: "address", ..SOUND },
        File { target: "address", ..SOUND },
    ] {
        assert!(load(&file, &[vip]).is_ok());
    }
}

#[test]
fn without_a_host_interface_no_probe_could_leave() {
    let why = "a probe to the VIP leaves by a host interface, and no [[port]] has one";
    let told = refused(&File { host_interface: "", ..SOUND }, &[]);
    assert_eq!(told, [expected(why, "give a [[port]] a host_interface")]);
}

#[test]
fn without_an_address_of_the_vips_family_no_answer_could_come_back() {
    for (addresses, vip, family) in [
        ("\"10.0.0.2/24\"", "2001:db8:9::10", "IPv6"),
        ("\"2001:db8::2/64\"", "203.0.113.10", "IPv4"),
    ] {
        let why = format!(
            "the answer for VIP {vip} needs an {family} address, and no port with a host_interface has one"
        );
        let told = refused(&File { addresses, ..SOUND }, &[]);
        assert_eq!(told, [expected(&why, &format!("give such a port an {family} address"))]);
    }
}

#[test]
fn a_vip_that_the_host_has_itself_would_keep_every_probe_there() {
    for vip in SOUND.vips {
        let why = format!("VIP {vip} is an address of this host: no probe would leave it");
        let told = refused(&SOUND, &[vip.parse().expect("an address")]);
        assert_eq!(told, [expected(&why, "take it off this host")]);
    }
}

#[test]
fn every_vip_that_cannot_be_asked_is_named() {
    let file = File { addresses: "\"10.0.0.2/24\"", ..SOUND };
    let told = refused(&file, &["203.0.113.10".parse().expect("an address")]);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].0.contains("VIP 203.0.113.10 is an address of this host"), "{told:?}");
    assert!(told[1].0.contains("VIP 2001:db8:9::10 needs an IPv6 address"), "{told:?}");
}
