//! The rate limit on repeated events, as a filter of `tracing`.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter};

use super::repeats::{Repeats, Summary};

/// The target of what answers an operator, who waits for it: it is never held back.
pub(super) const ANSWER: &str = "windrose::answer";

/// Lets through what is no repetition.
pub(super) struct HoldBack(Arc<Shared>);

/// What was held back, to be told when its time has come.
pub(super) struct Held(Arc<Shared>);

struct Shared {
    start: Instant,
    /// Nothing is logged while it is locked.
    repeats: Mutex<Repeats>,
}

impl Shared {
    fn with<R>(&self, f: impl FnOnce(&mut Repeats) -> R) -> R {
        f(&mut self.repeats.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl HoldBack {
    pub(super) fn new() -> (Self, Held) {
        let shared = Arc::new(Shared { start: Instant::now(), repeats: Mutex::default() });
        (Self(Arc::clone(&shared)), Held(shared))
    }
}

impl<S: Subscriber> Filter<S> for HoldBack {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        let metadata = event.metadata();
        if metadata.target() == ANSWER {
            return true;
        }
        let mut what = Words(String::new());
        event.record(&mut what);
        let now = self.0.start.elapsed();
        self.0.with(|repeats| repeats.admit(what.0, *metadata.level(), now))
    }
}

impl Held {
    /// Logs how often what was held back was said, where a minute is over.
    pub(super) fn tell(&self) {
        let over = self.0.with(|repeats| repeats.over(self.0.start.elapsed()));
        over.iter().for_each(tell);
    }
}

/// An event's level is part of its call site, so each level has one.
fn tell(Summary { what, level, count }: &Summary) {
    match *level {
        Level::ERROR => tracing::error!(target: ANSWER, of = what, count, "repeated, not shown"),
        Level::WARN => tracing::warn!(target: ANSWER, of = what, count, "repeated, not shown"),
        _ => tracing::info!(target: ANSWER, of = what, count, "repeated, not shown"),
    }
}

/// An event's words. Its numbers do not make it another one: a generation, a count, a time.
struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a String cannot fail.
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?} "),
            name => write!(self.0, "{name}={value:?} "),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_f64(&mut self, _: &Field, _: f64) {}
    fn record_i64(&mut self, _: &Field, _: i64) {}
    fn record_u64(&mut self, _: &Field, _: u64) {}
    fn record_i128(&mut self, _: &Field, _: i128) {}
    fn record_u128(&mut self, _: &Field, _: u128) {}
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tracing_subscriber::Layer;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("nobody panics").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// What is logged, and what was then remembered.
    fn logged(say: impl Fn()) -> (Vec<serde_json::Value>, Held) {
        let (hold_back, held) = HoldBack::new();
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let layer = tracing_subscriber::fmt::layer().json().flatten_event(true);
        let layer = layer.with_writer(move || writer.clone()).with_filter(hold_back);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), say);
        let text = String::from_utf8(buffer.0.lock().expect("nobody panics").clone());
        let text = text.expect("UTF-8");
        (text.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect(), held)
    }

    #[test]
    fn a_flapping_backend_does_not_fill_a_disk_and_the_others_are_still_heard() {
        let (lines, held) = logged(|| {
            for generation in 0..100_u64 {
                tracing::warn!(
                    backend = "rack-a/a1",
                    from = "up",
                    to = "down",
                    generation,
                    "health"
                );
            }
            tracing::warn!(
                backend = "rack-a/a2",
                from = "up",
                to = "down",
                generation = 7,
                "health"
            );
        });
        assert_eq!(lines.len(), 11);
        assert_eq!(lines[10]["backend"], "rack-a/a2");
        let over = held.0.with(|r| r.over(std::time::Duration::from_secs(61)));
        let counts: Vec<_> = over.iter().map(|s| (s.what.trim(), s.count)).collect();
        assert_eq!(counts, [("health backend=rack-a/a1 from=up to=down", 90)]);
    }

    #[test]
    fn an_answer_to_an_operator_is_never_held_back() {
        let say = || (0..1_000).for_each(|_| tracing::info!(target: ANSWER, "reloaded"));
        assert_eq!(logged(say).0.len(), 1_000);
    }
}
