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
