//! What `--help` says.

use std::process::Command;

fn help(words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windrose"));
    let output = command.args(words).arg("--help").output().expect("windrose");
    assert_eq!(output.status.code(), Some(0), "{words:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The commands that a help lists.
fn commands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.map_while(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn the_help_of_every_command_and_verb_has_examples_that_begin_with_it() {
    let all = commands(&help(&[]));
    assert!(all.len() > 10, "{all:?}");
    for command in &all {
        let own = help(&[command]);
        has_an_example(&own, command);
        for verb in commands(&own) {
            has_an_example(&help(&[command, &verb]), &format!("{command} {verb}"));
        }
    }
}

fn has_an_example(help: &str, command: &str) {
    let (_, examples) = help.split_once("\nExample").unwrap_or_else(|| panic!("{command}: {help}"));
    let begins = format!("windrose {command}");
    assert!(examples.lines().any(|line| line.contains(&begins)), "{command}: {examples}");
}
