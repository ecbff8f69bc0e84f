//! The timelines of the conformance vectors, and the idle timeouts that take a packet to show:
//! each case is written as a configuration and as events, and goes through the simulator, that is
//! through the control thread's and the worker's own code. (T-1 to T-17, H-1 to H-5, E-1 to E-7)

mod case;
#[path = "../common/mod.rs"]
mod common;
#[path = "../../src/bin/windrose/desk.rs"]
mod desk;
mod judge;
mod stage;

use common::vectors::cases;
use serde_json::{Value, json};

use case::Case;
use stage::Stage;

#[test]
fn every_timeline_of_the_vectors_comes_true() {
    let cases = cases("timeline.json");
    assert!(!cases.is_empty());
    let faults: Vec<_> = cases.iter().filter_map(|case| timeline(case).err()).collect();
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

fn timeline(case: &Value) -> Result<(), String> {
    let mut stage = Stage::new(Case::new(&case["config"], &case["backends"]));
    let events = case["events"].as_array().expect("events");
    let expected = case["expect"].as_array().expect("expectations");
    let mut chosen = Vec::new();
    assert_eq!(events.len(), expected.len(), "one expectation for each event");
    for (event, expect) in events.iter().zip(expected) {
        let result = stage.event(event, &chosen);
        let title = format!("{} {} event {}", case["id"], case["title"], chosen.len());
        judge::event(&result, expect, &chosen).map_err(|why| format!("{title}: {why}"))?;
        chosen.push(judge::backend(&result));
    }
    Ok(())
}

#[test]
fn t8_entries_expire_when_the_vectors_say() {
    let mut ran = 0;
    for case in cases("timeouts.json").iter().filter(|c| c["kind"] == "expiry") {
        let input = &case["input"];
        let backends = json!([{ "id": "b1", "role": "primary", "healthy": true, "weight": 1 }]);
        let mut stage = Stage::new(Case::new(input, &backends));
        let packet = |t: &Value, syn: bool| {
            json!({ "t": t, "type": "packet", "proto": "tcp", "src_ip": "198.51.100.10",
                "dst_ip": "192.0.2.1", "src_port": 40000, "dst_port": 443, "syn": syn })
        };
        let first = stage.event(&packet(&json!(0), true), &[]);
        assert_eq!(first["entry"], "created", "{}", case["id"]);
        let second = stage.event(&packet(&input["idle_seconds"], false), &[]);
        let present = second["entry"] == "hit";
        assert_eq!(Some(present), case["expect"]["entry_present"].as_bool(), "{}", case["id"]);
        ran += 1;
    }
    assert!(ran > 0);
}
