//! What is asked, and what comes of the answers.

use super::*;
use crate::health::{At, Reason, Response, question::Ask};
use crate::model::CheckProtocol;
use crate::policy::health::Thresholds;
use crate::policy::weights::Fault;

const SECOND: Duration = Duration::from_secs(1);

fn question(address: &str) -> Question {
    Question {
        at: At::Address(address.parse().expect("an address")),
        port: 80,
        ask: Ask {
            protocol: CheckProtocol::Http,
            tls: false,
            tls_ca: None,
            path: "/".into(),
            host: String::new(),
            send: String::new(),
            expect: String::new(),
            grpc_service: String::new(),
            only_200: false,
        },
        interval: 5 * SECOND,
        timeout: 5 * SECOND,
    }
}

fn who(service: &str, address: &str) -> Who {
    let address = address.parse().expect("an address");
    Who { service: service.into(), backend: "g/b".into(), address }
}

fn wanted(service: &str, address: &str) -> Wanted {
    Wanted {
        who: who(service, address),
        slot: SlotId::new(7).expect("in range"),
        question: question(address),
        healthy: false,
        thresholds: Thresholds { healthy: 2, unhealthy: 2 },
        weighted: false,
    }
}

fn good() -> Report {
    Report { answer: Ok("HTTP 200".into()), response: Some(Response::default()) }
}

fn bad() -> Report {
    Report { answer: Err(Reason::Status(503)), response: Some(Response::default()) }
}

fn weight(value: &str) -> Report {
    let weight = Some(value.as_bytes().to_vec());
    Report { response: Some(Response { weight }), ..bad() }
}

/// The first verdict.
fn first(service: &str, address: &str, healthy: bool, reason: &str) -> News {
    News::Verdict { who: who(service, address), was: None, healthy, reason: reason.into() }
}

/// Another verdict than before.
fn verdict(service: &str, address: &str, healthy: bool, reason: &str) -> News {
    let (who, was) = (who(service, address), Some(!healthy));
    News::Verdict { who, was, healthy, reason: reason.into() }
}

fn ids(starts: &[Start]) -> Vec<ProbeId> {
    starts.iter().map(|s| s.id).collect()
}

#[test]
fn services_that_ask_the_same_share_one_probe_and_each_has_thresholds_of_its_own() {
    let mut board = Board::new(10, 1);
    let mut strict = wanted("b", "10.0.0.1");
    strict.thresholds.unhealthy = 1;
    board.watch(vec![wanted("a", "10.0.0.1"), strict], Duration::ZERO);
    let starts = board.start(Duration::ZERO);
    assert_eq!(starts.len(), 1);
    let id = starts[0].id;
    let news = board.finish(id, &good(), SECOND);
    assert_eq!(
        news,
        [first("a", "10.0.0.1", true, "HTTP 200"), first("b", "10.0.0.1", true, "HTTP 200")]
    );
    assert_eq!(board.finish(id, &bad(), SECOND), [verdict("b", "10.0.0.1", false, "HTTP 503")]);
    assert_eq!(board.finish(id, &bad(), SECOND), [verdict("a", "10.0.0.1", false, "HTTP 503")]);
}

#[test]
fn whatever_differs_on_the_wire_or_in_time_is_another_check() {
    let same = wanted("a", "10.0.0.1");
    let change = |change: fn(&mut Question)| {
        let mut other = wanted("b", "10.0.0.1");
        change(&mut other.question);
        let mut board = Board::new(10, 1);
        board.watch(vec![same.clone(), other], Duration::ZERO);
        board.questions()
    };
    assert_eq!(change(|_| {}), 1);
    for one in [
        (|q| q.port = 81) as fn(&mut Question),
        |q| q.interval = SECOND,
        |q| q.timeout = SECOND,
        |q| q.ask.path = "/live".into(),
        |q| q.ask.host = "example.com".into(),
        |q| q.ask.protocol = CheckProtocol::Tcp,
        |q| q.ask.only_200 = true,
        |q| q.ask.tls = true,
    ] {
        assert_eq!(change(one), 2);
    }
}

#[test]
fn w4_the_first_result_is_news_even_if_it_changes_nothing() {
    let mut board = Board::new(10, 1);
    board.watch(vec![wanted("a", "10.0.0.1")], Duration::ZERO);
    let id = board.start(Duration::ZERO)[0].id;
    let told = board.finish(id, &bad(), Duration::ZERO);
    assert_eq!(told, [first("a", "10.0.0.1", false, "HTTP 503")]);
    assert_eq!(board.finish(id, &bad(), Duration::ZERO), []);
}

#[test]
fn a_reload_keeps_what_stays_asks_what_is_new_at_once_and_forgets_what_is_gone() {
    let mut board = Board::new(10, 1);
    board.watch(vec![wanted("a", "10.0.0.1"), wanted("a", "10.0.0.2")], Duration::ZERO);
    let begun = ids(&board.start(Duration::ZERO));
    begun.iter().for_each(|id| drop(board.finish(*id, &good(), Duration::ZERO)));

    board.watch(vec![wanted("a", "10.0.0.1"), wanted("a", "10.0.0.3")], SECOND);
    let new = board.start(SECOND);
    assert_eq!(new.len(), 1, "only the new one");
    assert!(!begun.contains(&new[0].id));
    let [kept, fresh] = &board.rows()[..] else { panic!("two backends") };
    assert!(kept.decided && kept.healthy && !fresh.decided);
    // What was asked of the one that is gone is nobody's news.
    assert_eq!(begun.iter().flat_map(|id| board.finish(*id, &bad(), SECOND)).count(), 0);
}

#[test]
fn another_question_about_the_same_backend_is_asked_at_once_and_its_past_counts() {
    let mut board = Board::new(10, 1);
    board.watch(vec![wanted("a", "10.0.0.1")], Duration::ZERO);
    let id = board.start(Duration::ZERO)[0].id;
    board.finish(id, &good(), Duration::ZERO);

    let mut other = wanted("a", "10.0.0.1");
    other.question.port = 81;
    board.watch(vec![other], SECOND);
    let id = board.start(SECOND)[0].id;
    assert_eq!(board.finish(id, &bad(), SECOND), [], "one failure of two");
    assert!(board.rows()[0].healthy && board.rows()[0].against == 1);
}

#[test]
fn one_that_joins_a_running_question_is_answered_by_it() {
    let mut board = Board::new(10, 1);
    board.watch(vec![wanted("a", "10.0.0.1")], Duration::ZERO);
    let id = board.start(Duration::ZERO)[0].id;
    board.watch(vec![wanted("a", "10.0.0.1"), wanted("b", "10.0.0.1")], Duration::ZERO);
    assert_eq!(board.finish(id, &good(), Duration::ZERO).len(), 2);
}

#[test]
fn w1_every_response_gives_a_weight_and_a_fault_is_told_once_per_change() {
    let mut board = Board::new(10, 1);
    let weighted = Wanted { weighted: true, ..wanted("a", "10.0.0.1") };
    board.watch(vec![weighted], Duration::ZERO);
    let id = board.start(Duration::ZERO)[0].id;
    let who = || who("a", "10.0.0.1");
    let mut hear = |report: &Report| board.finish(id, report, Duration::ZERO);
    assert_eq!(hear(&weight("0")).len(), 2, "a weight, and the first verdict: a 503 counts");
    assert_eq!(hear(&weight("7")), [News::Weight { who: who(), weight: 7 }]);
    assert_eq!(hear(&weight("7")), []);
    let fault = Some(Fault::Malformed);
    assert_eq!(hear(&weight("x")), [News::Header { who: who(), fault }]);
    assert_eq!(hear(&weight("y")), []);
    // No response says nothing of the weight.
    assert_eq!(hear(&Report::failed(Reason::Refused)), []);
    assert_eq!(hear(&weight("7")), [News::Header { who: who(), fault: None }]);
    let row = &board.rows()[0];
    assert_eq!((row.weight, row.weight_faults), (Some(7), 2));
}

#[test]
fn w6_where_weights_do_not_count_the_header_is_not_read() {
    let mut board = Board::new(10, 1);
    board.watch(vec![wanted("a", "10.0.0.1")], Duration::ZERO);
    let id = board.start(Duration::ZERO)[0].id;
    board.finish(id, &good(), Duration::ZERO);
    assert_eq!(board.finish(id, &weight("x"), Duration::ZERO), []);
}

#[test]
fn a_hint_about_a_slot_brings_its_probe_forward() {
    let mut board = Board::new(10, 1);
    board.watch(vec![wanted("a", "10.0.0.1")], Duration::ZERO);
    let id = board.start(Duration::ZERO)[0].id;
    board.finish(id, &good(), Duration::ZERO);
    board.hurry(&[SlotId::new(8).expect("in range")], 2 * SECOND);
    assert!(board.start(2 * SECOND).is_empty());
    board.hurry(&[SlotId::new(7).expect("in range")], 2 * SECOND);
    assert_eq!(ids(&board.start(2 * SECOND)), [id]);
}

#[test]
fn w5_one_backend_gives_two_services_two_weights() {
    let mut board = Board::new(10, 1);
    let by_path = |service, path: &str| {
        let mut one = Wanted { weighted: true, ..wanted(service, "10.0.0.1") };
        one.question.ask.path = path.into();
        one
    };
    board.watch(vec![by_path("a", "/a"), by_path("b", "/b")], Duration::ZERO);
    let starts = board.start(Duration::ZERO);
    assert_eq!(starts.len(), 2);
    for start in starts {
        let own = if start.question.ask.path == "/a" { "1" } else { "4" };
        board.finish(start.id, &weight(own), Duration::ZERO);
    }
    let weights: Vec<_> = board.rows().iter().map(|row| row.weight).collect();
    assert_eq!(weights, [Some(1), Some(4)]);
}

#[test]
fn what_fails_on_the_appliance_itself_changes_nobodys_health_and_is_told_once() {
    let mut board = Board::new(10, 1);
    board.watch(vec![wanted("a", "10.0.0.1")], Duration::ZERO);
    let id = board.start(Duration::ZERO)[0].id;
    board.finish(id, &good(), Duration::ZERO);
    let ours = Report::failed(Reason::Local("too many open files".into()));
    let told = board.finish(id, &ours, Duration::ZERO);
    let reason = "cannot probe: too many open files".to_owned();
    assert_eq!(told, [News::Unasked { who: who("a", "10.0.0.1"), reason }]);
    for _ in 0..9 {
        assert_eq!(board.finish(id, &ours, Duration::ZERO), []);
    }
    assert!(board.rows()[0].healthy);
}
