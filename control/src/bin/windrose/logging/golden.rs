//! What is logged, for tests that compare it to the letter.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A line each, without the time.
pub(crate) fn lines(say: impl FnOnce()) -> String {
    let buffer = Buffer::default();
    let writer = buffer.clone();
    let format = tracing_subscriber::fmt().with_writer(move || writer.clone());
    let format = format.without_time().with_target(false).with_ansi(false);
    tracing::subscriber::with_default(format.finish(), say);
    let text = buffer.0.lock().expect("nobody panics").clone();
    String::from_utf8(text).expect("UTF-8")
}
