//! Shells and YAML readers take what is printed.

use std::io::Write;
use std::process::{Command, Stdio};

use control::backend_setup::{ansible, netplan, sh};

use crate::{FOUR, SIX, setup};

const KINDS: [&str; 7] = [
    "kind = \"ipip\"",
    "kind = \"gre\"",
    "kind = \"gre\", gre_key = \"service\"",
    "kind = \"gue\"",
    "kind = \"gue\", gue_variant = 1",
    "kind = \"ipip\", source_entropy = true, entropy_prefix = [\"172.16.0.0/16\", \"2001:db8:e::/64\"]",
    "kind = \"l2\"",
];

/// What a program says of its input; empty if it takes it.
fn complaint(program: &str, arguments: &[&str], input: &str) -> String {
    let mut command = Command::new(program);
    let command = command.args(arguments).stdin(Stdio::piped());
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap_or_else(|error| panic!("{program}: {error}"));
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("its input");
    let output = child.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { said } else { format!("{}: {said}", output.status) }
}

fn shell_takes(script: &str) {
    assert_eq!(complaint("sh", &["-n"], script), "", "{script}");
}

/// Reads documents of tasks with names, and netplan files, as YAML.
fn yaml_takes(documents: &[String]) {
    let read = "import sys, yaml\n\
                for document in yaml.safe_load_all(sys.stdin):\n    \
                assert document['network']['version'] == 2 if 'network' in document \
                else all(task['name'] for task in document), document\n";
    let text = documents.join("\n---\n");
    assert_eq!(complaint("python3", &["-c", read], &text), "", "{text}");
}

#[test]
fn every_kind_there_and_back_is_a_script_and_yaml() {
    let mut documents = Vec::new();
    for kind in KINDS {
        for (backend, vip) in [(FOUR, "203.0.113.10"), (SIX, "2001:db8:f::10")] {
            let setup = setup(kind, backend, &[vip]);
            shell_takes(&sh::up(&setup));
            shell_takes(&sh::undo(&setup));
            documents.extend([ansible::up(&setup), ansible::undo(&setup)]);
        }
        let one = setup(kind, SIX, &["2001:db8:f::10"]);
        documents.push(netplan::up(&one).expect("one backend"));
    }
    yaml_takes(&documents);
}
