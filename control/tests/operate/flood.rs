//! A control socket that is flooded: bounded, and said to be busy.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

use control::admin::serve::CONNECTIONS;

use crate::rig::Rig;

fn connect(rig: &Rig) -> UnixStream {
    let stream = UnixStream::connect(rig.path("s")).expect("connects");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    stream
}

/// What comes back until the other end closes.
fn answer(rig: &Rig, request: &[u8]) -> String {
    let mut stream = connect(rig);
    // It may be closed before all of it is sent.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn whoever_is_slow_makes_others_wait_for_nothing_but_a_clear_answer() {
    let rig = Rig::new();
    let slow: Vec<_> = (0..CONNECTIONS).map(|_| connect(&rig)).collect();
    let said = rig.run(&["status"]);
    assert_eq!(said.code, 75, "{said:?}");
    assert!(said.err.contains("busy"), "{said:?}");
    drop(slow);
    // Room comes back when the others have gone, or have been slow for too long.
    let served = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        rig.run(&["status"]).code == 0
    });
    assert!(served);
}

#[test]
fn garbage_and_what_is_too_large_are_refused() {
    let rig = Rig::new();
    let head = |length: usize| {
        format!(
            "POST /v1/drain HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        )
    };
    let large = [head(1 << 20).into_bytes(), vec![b' '; 1 << 20]].concat();
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(100));
    let long = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(100_000));
    for (name, request, expected) in [
        ("a large body", large, "413"),
        ("many headers", many.into_bytes(), "431"),
        ("a long path", long.into_bytes(), "4"),
        ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01".to_vec(), "400"),
        ("nothing", Vec::new(), ""),
        ("another path", b"GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), "404"),
        ("another method", b"DELETE /v1/status HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), "405"),
        ("no JSON", [head(4).into_bytes(), b"{{{{".to_vec()].concat(), "400"),
        ("an unknown key", [head(7).into_bytes(), b"{\"a\":1}".to_vec()].concat(), "422"),
    ] {
        let answer = answer(&rig, &request);
        let status = answer.strip_prefix("HTTP/1.1 ").unwrap_or(&answer);
        assert!(status.starts_with(expected), "{name}: {answer}");
    }
    assert_eq!(rig.run(&["status"]).code, 0);
}

#[test]
fn more_orders_than_the_control_thread_takes_are_refused_not_queued_up() {
    let rig = Rig::new();
    rig.asleep.store(true, Ordering::Relaxed);
    let body = b"{\"service\":\"web\",\"backend\":\"rack-a/a1\"}";
    let request = format!(
        "POST /v1/drain HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut waiting = Vec::new();
    let mut refused = 0;
    for _ in 0..50 {
        let mut stream = connect(&rig);
        stream.write_all(request.as_bytes()).expect("sends");
        stream.write_all(body).expect("sends");
        stream.set_read_timeout(Some(Duration::from_millis(100))).expect("a limit");
        let mut first = [0; 12];
        match stream.read_exact(&mut first) {
            Ok(()) => {
                assert_eq!(&first, b"HTTP/1.1 503");
                refused += 1;
            }
            Err(_) => waiting.push(stream),
        }
    }
    assert!(refused > 0 && waiting.len() <= 33, "{refused} refused, {} wait", waiting.len());
    // Whatever waited is one change for the control thread.
    rig.asleep.store(false, Ordering::Relaxed);
    for mut stream in waiting {
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let generation = rig.pictures.newest().tables.generation;
    assert!(generation <= 4, "{generation}");
}
