//! What changes something: orders (T-18), reloads.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::rig::{CONFIG, Rig};

/// One backend as status has it: drained, disabled, eligible, share.
fn backend(rig: &Rig, service: &str, path: &str) -> (bool, bool, bool, f64) {
    let status = rig.json(&["status", service]);
    let backends = status["backends"].as_array().expect("backends");
    let one = backends.iter().find(|b| b["backend"] == path).expect("this backend");
    let is = |key: &str| one[key].as_bool().expect("a boolean");
    let share = one["share"].as_f64().expect("a share");
    (is("drained"), is("disabled"), is("eligible"), share)
}

#[test]
fn t18_an_order_is_in_force_when_the_command_returns_and_shown_until_it_is_undone() {
    let rig = Rig::new();
    let one = ["web", "rack-a/a1"];
    let order = |verb: &str| rig.tell(&["backend", verb, one[0], one[1]]);
    assert_eq!(order("drain"), "web rack-a/a1 is drained (generation 2)\n");
    assert_eq!(backend(&rig, one[0], one[1]), (true, false, false, 0.0));
    assert_eq!(backend(&rig, "web", "rack-a/a2").3, 1.0);
    assert!(backend(&rig, "dns", "rack-a/a1").2, "its namesake in another service goes on");
    assert_eq!(order("disable"), "web rack-a/a1 is disabled (generation 3)\n");
    assert_eq!(backend(&rig, one[0], one[1]), (true, true, false, 0.0));
    assert_eq!(order("enable"), "web rack-a/a1 is enabled (generation 4)\n");
    let (drained, disabled, eligible, _) = backend(&rig, one[0], one[1]);
    assert_eq!((drained, disabled, eligible), (false, false, true));
    assert_eq!(std::fs::read_to_string(rig.path("orders.json")).expect("kept"), "{}\n");
}

#[test]
fn t18_orders_stay_over_reloads_for_a_new_address_and_a_backend_that_comes_back_too() {
    let rig = Rig::new();
    let ordered = rig.json(&["backend", "drain", "web", "rack-a/a1"]);
    assert!(ordered["generation"].is_u64() && ordered["not_kept"].is_null(), "{ordered}");
    rig.write("w.toml", &CONFIG.replace("\"10.1.0.11\" }, {", "\"10.1.0.99\" }, {"));
    rig.tell(&["reload"]);
    let status = rig.json(&["status", "web"]);
    let shown: Vec<_> = status["backends"].as_array().expect("backends").iter().collect();
    assert!(shown.iter().any(|b| b["address"] == "10.1.0.99" && b["drained"] == true), "{status}");
    rig.write("w.toml", &CONFIG.replace("{ name = \"a1\", address = \"10.1.0.11\" }, {", "{"));
    rig.tell(&["reload"]);
    let waiting = &rig.json(&["status"])["waiting_orders"];
    assert_eq!(waiting, &json!(["backend web rack-a/a1: drained"]));
    rig.write("w.toml", CONFIG);
    rig.tell(&["reload"]);
    assert!(backend(&rig, "web", "rack-a/a1").0);
}

#[test]
fn t18_a_service_is_drained_with_all_that_it_has_and_will_have() {
    let rig = Rig::new();
    assert_eq!(rig.tell(&["service", "drain", "web"]), "service web is drained (generation 2)\n");
    let more =
        "{ name = \"a2\", address = \"10.1.0.12\" }, { name = \"a3\", address = \"10.1.0.13\" }";
    rig.write("w.toml", &CONFIG.replace("{ name = \"a2\", address = \"10.1.0.12\" }", more));
    rig.tell(&["reload"]);
    let web = rig.json(&["status", "web"]);
    assert_eq!(
        (&web["drained"], &web["eligible"], &web["pool"]),
        (&json!(true), &json!(0), &json!("none"))
    );
    assert!(web["backends"].as_array().expect("backends").iter().all(|b| b["drained"] == true));
    let text = rig.tell(&["status", "web"]);
    assert!(text.contains("DRAINED by the operator: nobody is eligible"), "{text}");
    rig.tell(&["service", "enable", "web"]);
    assert_eq!(rig.json(&["status", "web"])["eligible"], 3);
}

#[test]
fn orders_about_what_there_is_not_are_refused_with_what_there_is() {
    let rig = Rig::new();
    for (words, why) in [
        (&["backend", "drain", "web", "rack-a/a9"][..], "it has rack-a/a1, rack-a/a2, rack-b/b1"),
        (&["backend", "enable", "wbe", "rack-a/a1"], "there is no service \"wbe\""),
        (&["service", "drain", "wbe"], "there is no service \"wbe\""),
    ] {
        let said = rig.run(words);
        assert_eq!(said.code, 65, "{said:?}");
        assert!(said.err.contains(why), "{said:?}");
    }
    assert_eq!(rig.json(&["status"])["generation"], 1);
}

#[test]
fn an_order_that_cannot_be_kept_is_in_force_all_the_same_and_says_so() {
    let rig = Rig::new();
    std::fs::create_dir(rig.path("orders.json")).expect("in its way");
    let said = rig.run(&["backend", "disable", "web", "rack-a/a1"]);
    assert_eq!(said.code, 0);
    assert!(said.err.contains("it holds until a restart only: "), "{said:?}");
    assert!(backend(&rig, "web", "rack-a/a1").1);
}

#[test]
fn r1_a_reload_says_what_has_changed_or_why_nothing_has() {
    let rig = Rig::new();
    let said = rig.tell(&["reload"]);
    assert!(
        said.contains("a reload would change nothing")
            && said.ends_with("In force, generation 2.\n")
    );
    let text = "{ name = \"a1\", address = \"10.1.0.11\" }, {";
    rig.write("w.toml", &CONFIG.replace(text, "{"));
    let said = rig.tell(&["reload"]);
    assert!(said.contains("Service web\n  - rack-a/a1: 10.1.0.11, primary"), "{said}");
    rig.write("w.toml", &CONFIG.replace("\"TCP\"", "\"SCTP\""));
    let said = rig.run(&["reload"]);
    assert_eq!((said.code, &*said.out), (78, ""));
    assert!(
        said.err.contains("the old configuration goes on:") && said.err.contains("SCTP"),
        "{said:?}"
    );
    let last = &rig.json(&["status"])["last_reload"];
    assert!(
        last["applied"] == false && last["error"].as_str().is_some_and(|e| e.contains("SCTP")),
        "{last}"
    );
}

#[test]
fn r5_what_needs_a_restart_is_named_by_reload_and_by_check() {
    let rig = Rig::new();
    let new = CONFIG
        .replace("maglev_table_size = 251", "memory = \"1G\"")
        .replace("net_null0", "net_null1");
    rig.write("w.toml", &new);
    let said = rig.run(&["reload"]);
    assert_eq!(said.code, 78);
    let settings = [
        "dataplane.memory: \"512M\" → \"1G\"",
        "port \"uplink\" device: \"net_null0\" → \"net_null1\"",
    ];
    assert!(settings.iter().all(|s| said.err.contains(s)), "{said:?}");
    let json = rig.run(&["reload", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(json["restart_needed"], json!(settings));
    let file = rig.path("w.toml").display().to_string();
    let said = rig.run(&["check", "--against-running", "--config", &file]);
    assert_eq!(said.code, 78, "{said:?}");
    assert!(
        said.out.contains("valid: ") && said.out.contains("A reload would be REFUSED"),
        "{said:?}"
    );
    assert!(settings.iter().all(|s| said.out.contains(s)), "{said:?}");
    let told = rig.run(&["check", "--against-running", "--config", &file, "--format", "json"]);
    assert_eq!((told.code, &*told.err), (78, ""));
    let told: serde_json::Value = serde_json::from_str(&told.out).expect("JSON");
    assert_eq!(
        (&told["valid"], &told["running"]["restart_needed"]),
        (&json!(true), &json!(settings))
    );
    assert!(told["running"]["diff"].is_object(), "{told}");
    rig.write("w.toml", &CONFIG.replace("60s", "90s"));
    let said = rig.run(&["check", "--against-running", "--config", &file]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("connection_draining_timeout: \"60s\" → \"90s\""), "{said:?}");
    assert_eq!(rig.json(&["status"])["generation"], 1, "nothing is applied");
}

#[test]
fn what_is_no_file_is_refused_and_the_old_configuration_goes_on() {
    let rig = Rig::new();
    let file = rig.path("w.toml");
    let refused = |why: &str| {
        let said = rig.run(&["reload"]);
        assert_eq!(said.code, 78, "{said:?}");
        assert!(said.err.contains(why), "{why}: {said:?}");
        assert_eq!(rig.json(&["status"])["generation"], 1);
    };
    std::fs::remove_file(&file).expect("removes");
    refused("there is no such file");
    std::fs::create_dir(&file).expect("a folder");
    refused("this is a directory; give the file in it");
    std::fs::remove_dir(&file).expect("removes");
    std::os::unix::fs::symlink("gone.toml", &file).expect("a link");
    refused("this is a link to gone.toml, and there is no such file");
    std::fs::remove_file(&file).expect("removes");
    let made = std::process::Command::new("mkfifo").arg(&file).status().expect("mkfifo");
    assert!(made.success());
    refused("this is a pipe or a device; a reload takes a regular file");
    std::fs::remove_file(&file).expect("removes");
    std::os::unix::fs::symlink("/dev/zero", &file).expect("a device");
    refused("this is a pipe or a device");
    std::fs::remove_file(&file).expect("removes");
    let large = std::fs::File::create(&file).expect("a file");
    large.set_len(50 << 20).expect("50 MB");
    refused("larger than 16 MB: this is no configuration file");
    std::fs::write(&file, [0xff, 0xfe]).expect("writes");
    refused("not UTF-8 in line 1");
    rig.write("w.toml", CONFIG);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000))
        .expect("takes rights away");
    // Root reads everything.
    if std::fs::read(&file).is_err() {
        refused("this user may not read it");
    }
}

#[test]
fn r2_many_reloads_at_once_are_few_and_the_newest_file_wins() {
    let rig = Rig::new();
    std::thread::scope(|scope| {
        let askers: Vec<_> = (0..30)
            .map(|round| {
                rig.write("w.toml", &CONFIG.replace("60s", &format!("{}s", 100 + round)));
                scope.spawn(|| rig.run(&["reload"]).code)
            })
            .collect();
        let codes: Vec<_> = askers.into_iter().map(|a| a.join().expect("ends")).collect();
        // A file that was replaced faster than it could be read is an error too, never half a file.
        assert!(codes.iter().all(|code| [0, 78].contains(code)), "{codes:?}");
    });
    rig.tell(&["reload"]);
    let in_force = rig.pictures.newest();
    let web = &in_force.state.service("web").expect("known").config;
    assert_eq!(web.draining_timeout.as_secs(), 129);
    assert!(in_force.tables.generation <= 32);
}
