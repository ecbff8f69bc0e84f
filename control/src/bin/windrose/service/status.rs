//! The line that `systemctl status` shows.

use control::model::Role;
use control::state::{Service, State};

/// So many names are written out.
const NAMED: usize = 3;

/// Whether a service is of a kind that is to be named.
type Is = fn(&Service) -> bool;

/// In one line: how much there is, what of it is not as it should be, what became of the last reload.
pub(super) fn line(state: &State, generation: u64, refused: Option<&str>) -> String {
    let services: Vec<_> = state.services().filter(|s| s.is_in_file()).collect();
    let (healthy, all) = backends(&services);
    let count = services.len();
    let mut line = format!(
        "generation {generation}: {count} service{}, {healthy} of {all} backends healthy",
        if count == 1 { "" } else { "s" }
    );
    let kinds: [(&str, Is); 3] = [
        ("nobody serves", |s| s.eligible().pool.is_none()),
        ("last resort serves", |s| s.eligible().last_resort),
        ("failover serves", |s| s.eligible().pool == Some(Role::Failover)),
    ];
    for (what, is) in kinds {
        let names: Vec<_> = services.iter().filter(|s| is(s)).map(|s| &*s.config.name).collect();
        line += &some(what, &names);
    }
    if let Some(why) = refused {
        line += &format!("; last reload refused: {why}");
    }
    line
}

/// (healthy, all), drained ones left out.
fn backends(services: &[&Service]) -> (usize, usize) {
    let current = services.iter().flat_map(|s| s.current());
    current.fold((0, 0), |(healthy, all), b| (healthy + usize::from(b.is_healthy()), all + 1))
}

fn some(what: &str, names: &[&str]) -> String {
    let first = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => String::new(),
        n if n > NAMED => format!("; {what}: {first} and {} more", n - NAMED),
        _ => format!("; {what}: {first}"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use control::config::{self, Environment};
    use control::state::{Change, Clock, Verb};

    use super::*;

    fn state(services: &[&str]) -> State {
        let service = |name: &&str| {
            format!(
                r#"
[[service]]
name = "{name}"
initial_health = "healthy"
[service.failover_policy]
drop_traffic_if_unhealthy = {}
[[service.group]]
name = "p"
backends = [{{ name = "1", address = "10.1.0.1" }}]
[[service.group]]
name = "f"
role = "failover"
backends = [{{ name = "1", address = "10.2.0.1" }}]
"#,
                name.starts_with('d')
            )
        };
        let text: String = services.iter().map(service).collect();
        let text = format!("[encapsulation]\nsource = [\"10.0.0.2\"]\n{text}");
        let loaded = config::parse("windrose.toml", &text, &Environment::default());
        let clock = Clock { tick_length: Duration::from_millis(125) };
        State::new(Arc::new(loaded.expect("valid").config), clock, Duration::ZERO).expect("fits")
    }

    fn fail(state: &mut State, service: &str, backends: &[&str]) {
        for backend in backends {
            let (service, backend) = (service.to_owned(), (*backend).to_owned());
            let change = Change::Backend { service, backend, verb: Verb::Health(false) };
            state.apply(&[change], Duration::from_secs(1)).expect("known");
        }
    }

    #[test]
    fn the_line_says_how_much_there_is_and_what_is_wrong() {
        let mut one = state(&["web"]);
        assert_eq!(line(&one, 1, None), "generation 1: 1 service, 2 of 2 backends healthy");
        fail(&mut one, "web", &["p/1"]);
        let expected = "generation 2: 1 service, 1 of 2 backends healthy; failover serves: web";
        assert_eq!(line(&one, 2, None), expected);

        let mut many = state(&["a", "b", "c", "d", "e"]);
        for name in ["a", "b", "c", "d", "e"] {
            fail(&mut many, name, &["p/1", "f/1"]);
        }
        let expected = "generation 9: 5 services, 0 of 10 backends healthy; nobody serves: d; \
                        last resort serves: a, b, c and 1 more; last reload refused: no";
        assert_eq!(line(&many, 9, Some("no")), expected);
    }
}
