//! The functions that a script starts with.

use crate::backend_setup::Setup;

/// Sets a setting. What is kept under /run is, like the settings themselves, gone after a reboot.
pub(super) const RAISE: &str = r#"
# Sets one of the kernel's settings if it is lower, and keeps what it was.
raise() {
    note=$(echo "$1" | tr / .)
    hold "$note"
    was=$(cat "/proc/sys/net/$1")
    if [ "$was" -ge "$2" ]; then return; fi
    if [ ! -e "$notes/$note.was" ]; then echo "$was" >"$notes/$note.was"; fi
    echo "$2" >"/proc/sys/net/$1"
}
"#;

/// The other way.
pub(super) const RESTORE: &str = r#"
# Gives one of the kernel's settings the value that it had.
restore() {
    note=$(echo "$1" | tr / .)
    if ! release "$note" || [ ! -e "$notes/$note.was" ]; then return; fi
    cat "$notes/$note.was" >"/proc/sys/net/$1"
    rm "$notes/$note.was"
}
"#;

/// Notes which services need what: two may share a host, a tunnel and a VIP.
pub(super) fn hold(setup: &Setup) -> String {
    format!(
        r#"
# Notes that this service needs something here, for the undo: others may need it too.
notes=/run/windrose-backend
hold() {{ mkdir -p "$notes/$1" && : >"$notes/$1/{}"; }}
"#,
        setup.service
    )
}

/// The other way.
pub(super) fn release(setup: &Setup) -> String {
    format!(
        r#"
# This service needs something no more; says whether that is so of every service here.
notes=/run/windrose-backend
release() {{
    rm -f "$notes/$1/{}"
    rmdir "$notes/$1" 2>/dev/null || [ ! -d "$notes/$1" ]
}}
"#,
        setup.service
    )
}

const OWN: &str = r#"
# Which of these addresses this host has; and the interface that has one.
own() {
    for address in "$@"; do
        if [ -n "$(ip -o address show to "$address")" ]; then echo "$address"; fi
    done | head -n 1
}
link() { ip -o address show to "$1" | awk 'NR == 1 { print $2 }'; }
"#;

/// Finds out which backend the host is: `$local4`, `$local6`; ends the script where it is none.
pub(super) fn own(setup: &Setup) -> String {
    let families = [('4', setup.addresses(true)), ('6', setup.addresses(false))];
    let mut text = OWN.to_owned();
    let mut found = String::new();
    let mut all = Vec::new();
    for (digit, addresses) in families.into_iter().filter(|(_, a)| !a.is_empty()) {
        text += &format!("local{digit}=$(own {})\n", addresses.join(" "));
        found += &format!("$local{digit}");
        all.extend(addresses);
    }
    text += &format!(
        "if [ -z \"{found}\" ]; then\n    echo \"this host has no address of a backend of service \
         {}: {}\" >&2\n    exit 1\nfi\n",
        setup.service,
        all.join(" "),
    );
    text
}
