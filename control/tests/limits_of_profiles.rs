//! Which settings which profile refuses, and what the refusal names. (P-1 to P-4, H-4, E-8, E-9,
//! W-3, W-6)

use control::config::{self, Environment};
use control::model::{Affinity, Config, Profile, TrackingMode};

const PRIMARY: &str =
    "[[service.group]]\nname = \"p\"\nbackends = [ { name = \"1\", address = \"10.1.0.1\" } ]\n";
const FAILOVER: &str = "[[service.group]]\nname = \"f\"\nrole = \"failover\"\n\
                        backends = [ { name = \"1\", address = \"10.2.0.1\" } ]\n";

fn load(settings: &str, groups: &str) -> Result<Config, String> {
    let text = format!("[[service]]\nname = \"web\"\n{settings}\n{groups}");
    let loaded = config::parse("windrose.toml", &text, &Environment::default());
    loaded.map(|l| l.config).map_err(|errors| errors.to_string())
}

#[track_caller]
fn refused(settings: &str, groups: &str, signs: &[&str]) {
    let error = load(settings, groups).expect_err(settings);
    for sign in [&["windrose.toml:", "service \"web\""], signs].concat() {
        assert!(error.contains(sign), "{sign}\n{settings}\n{error}");
    }
}

#[test]
fn p1_native_is_the_default_profile() {
    assert_eq!(load("", PRIMARY).expect("valid").services[0].profile, Profile::Native);
}

#[test]
fn p2_a_setting_that_the_profile_does_not_know_is_refused_by_name() {
    for (settings, signs) in [
        ("profile = \"azure\"\ntracking_mode = \"PER_SESSION\"", ["tracking_mode", "azure"]),
        ("profile = \"azure\"\nsession_affinity = \"NONE\"", ["session_affinity", "distribution"]),
        (
            "profile = \"azure\"\nconnection_persistence_on_unhealthy_backends = \"NEVER_PERSIST\"",
            ["connection_persistence_on_unhealthy_backends", "azure"],
        ),
        (
            "profile = \"gcp-external\"\nidle_timeout = \"61s\"",
            ["idle_timeout = \"61s\"", "gcp-external"],
        ),
        (
            "profile = \"gcp-external\"\nsession_affinity = \"CLIENT_IP_NO_DESTINATION\"",
            ["session_affinity", "gcp-external"],
        ),
    ] {
        refused(settings, PRIMARY, &signs);
    }
    refused("profile = \"azure\"", &format!("{PRIMARY}{FAILOVER}"), &["azure"]);
}

#[test]
fn p3_azure_takes_its_own_names_and_the_portals() {
    for (names, affinity) in [
        (["Default", "None"], Affinity::None),
        (["SourceIP", "Client IP"], Affinity::ClientIp),
        (["SourceIPProtocol", "Client IP and protocol"], Affinity::ClientIpProto),
    ] {
        for name in names {
            let settings = format!("profile = \"azure\"\ndistribution = \"{name}\"");
            let service = load(&settings, PRIMARY).expect("valid").services.remove(0);
            assert_eq!(service.affinity, affinity, "{name}");
            assert_eq!(service.tracking_mode, TrackingMode::PerConnection);
        }
    }
}

#[test]
fn p4_native_combines_everything() {
    let settings = "session_affinity = \"CLIENT_IP_NO_DESTINATION\"\nidle_timeout = \"86400s\"\n\
                    locality_lb_policy = \"WEIGHTED_MAGLEV\"\n[service.zonal_affinity]\n\
                    spillover = \"ZONAL_AFFINITY_STAY_WITHIN_ZONE\"";
    load(settings, &format!("{PRIMARY}{FAILOVER}")).expect("valid");
    load("idle_timeout = \"1s\"", PRIMARY).expect("valid");
}

#[test]
fn h4_always_persist_is_not_for_sessions() {
    let settings = "tracking_mode = \"PER_SESSION\"\n\
                    connection_persistence_on_unhealthy_backends = \"ALWAYS_PERSIST\"";
    refused(settings, PRIMARY, &["ALWAYS_PERSIST", "PER_SESSION"]);
}

#[test]
fn e8_a_failover_policy_needs_both_kinds_of_group_and_a_ratio_within_its_bounds() {
    let policy = "[service.failover_policy]\nfailover_ratio = ";
    refused(&format!("{policy}0.5"), PRIMARY, &["failover"]);
    refused("", FAILOVER, &["primary"]);
    let both = format!("{PRIMARY}{FAILOVER}");
    refused(&format!("{policy}1.01"), &both, &["failover_ratio = 1.01", "0.0 to 1.0"]);
    load(&format!("{policy}1.0"), &both).expect("valid");
}

#[test]
fn e9_gcp_internal_has_no_weights() {
    let settings = "profile = \"gcp-internal\"\nlocality_lb_policy = \"WEIGHTED_MAGLEV\"";
    refused(settings, PRIMARY, &["locality_lb_policy", "gcp-internal"]);
}

#[test]
fn w3_a_static_weight_is_natives_and_only_with_weights_on() {
    let weighted = PRIMARY.replace("\" } ]", "\", weight = 4 } ]");
    refused("", &weighted, &["weight", "WEIGHTED_MAGLEV"]);
    let on = "locality_lb_policy = \"WEIGHTED_MAGLEV\"";
    load(on, &weighted).expect("valid");
    refused(on, &weighted.replace("= 4", "= 1001"), &["weight = 1001"]);
}

#[test]
fn w6_weights_of_gcp_external_come_from_an_http_check() {
    let check = |protocol| {
        format!(
            "profile = \"gcp-external\"\nlocality_lb_policy = \"WEIGHTED_MAGLEV\"\n\
             [service.health_check]\nprotocol = \"{protocol}\"\nport = 80"
        )
    };
    load(&check("HTTP"), PRIMARY).expect("valid");
    refused(&check("TCP"), PRIMARY, &["HTTP", "gcp-external"]);
}
