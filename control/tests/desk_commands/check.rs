use crate::files::Files;

#[test]
fn it_says_what_the_connection_table_takes() {
    let files = Files::new();
    let said = files.run(&["check", "--config", "w.toml"]);
    assert_eq!(said.code, 0, "{}", said.err);
    // A million IPv4 connections and a quarter of a million IPv6 ones, in whole huge pages.
    let expected = "connection table: 56 MB (39 bytes an IPv4 entry, 75 an IPv6 entry, tags and spare slots included)\n";
    assert!(said.out.ends_with(expected), "{}", said.out);
}

#[test]
fn it_warns_of_a_gateway_without_a_neighbour_and_the_desk_commands_do_not() {
    let files = Files::new();
    let neighbour = "port \"uplink\" has no neighbour 10.0.0.1";
    let said = files.run(&["check", "--config", "w.toml"]);
    assert!(said.err.contains(neighbour), "{}", said.err);
    let packet = "tcp 198.51.100.7:40000 > 203.0.113.10:80";
    let said = files.run(&["explain", "--config", "w.toml", packet]);
    assert_eq!((said.code, &*said.err), (0, ""), "not even an empty line");
}
