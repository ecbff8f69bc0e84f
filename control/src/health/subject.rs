//! One backend of one service: what the answers say of it.

use std::time::Duration;

use super::report::{Reason, Report};
use crate::policy::health::{Change, Health, Thresholds};
use crate::policy::weights::{self, HeaderWeight};
use crate::state::{self, Finding, Who};

/// What a report has changed for one backend of one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The verdict: the first, or another than before.
    Verdict {
        /// Whose.
        who: Who,
        /// What it was; `None`: this is the first result.
        was: Option<bool>,
        /// Whether it may serve.
        healthy: bool,
        /// What the probe said: the answer, or why it failed.
        reason: String,
    },
    /// Another weight (W-1).
    Weight {
        /// Whose.
        who: Who,
        /// From 0 to 1000.
        weight: u16,
    },
    /// It cannot be asked, by no fault of its own: nothing is known of it.
    Unasked {
        /// Who.
        who: Who,
        /// Why.
        reason: String,
    },
    /// The weight header is wrong in another way than before, or right again (W-1).
    Header {
        /// Whose.
        who: Who,
        /// How; `None`: right again.
        fault: Option<weights::Fault>,
    },
}

impl News {
    /// What the state is to be told, if anything.
    pub fn change(&self) -> Option<state::Change> {
        let (who, finding) = match self {
            Self::Verdict { who, healthy, .. } => (who, Finding::Health(*healthy)),
            Self::Weight { who, weight } => (who, Finding::Weight(*weight)),
            Self::Header { .. } | Self::Unasked { .. } => return None,
        };
        Some(state::Change::Checked { who: who.clone(), finding })
    }
}

/// What is known of one backend's check: for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Whose.
    pub who: Who,
    /// What is asked, in words.
    pub question: String,
    /// The verdict.
    pub healthy: bool,
    /// Whether there has been a result; without one the verdict is `initial_health`, or what it was.
    pub decided: bool,
    /// What the last probe said: the answer, or why it failed.
    pub answer: Option<Result<String, String>>,
    /// When that was, by the appliance's clock.
    pub answered: Option<Duration>,
    /// When the verdict last changed.
    pub since: Option<Duration>,
    /// Results in a row that contradict the verdict.
    pub against: u32,
    /// The last good weight of the header.
    pub weight: Option<u16>,
    /// Responses without a good weight, where one counts (W-1).
    pub weight_faults: u64,
}

/// One backend of one service.
#[derive(Clone, Debug)]
pub struct Subject {
    who: Who,
    thresholds: Thresholds,
    /// Whether the header counts (W-6).
    weighted: bool,
    health: Health,
    weight: HeaderWeight,
    weight_faults: u64,
    answer: Option<Result<String, String>>,
    answered: Option<Duration>,
    since: Option<Duration>,
}

impl Subject {
    /// Nothing answered yet; `healthy` as its service or its past says (W-4, T-15).
    pub fn new(who: Who, healthy: bool, thresholds: Thresholds, weighted: bool) -> Self {
        Self {
            who,
            thresholds,
            weighted,
            health: Health::starting(healthy),
            weight: HeaderWeight::default(),
            weight_faults: 0,
            answer: None,
            answered: None,
            since: None,
        }
    }

    /// Who it is.
    pub fn who(&self) -> &Who {
        &self.who
    }

    /// Takes what the file says now; what was answered stays.
    pub fn configure(&mut self, thresholds: Thresholds, weighted: bool) {
        self.thresholds = thresholds;
        self.weighted = weighted;
    }

    /// Takes a report. Two backends of one question may hear different things in it: each has
    /// thresholds and a past of its own.
    pub fn hear(&mut self, report: &Report, now: Duration) -> Vec<News> {
        if let Some(reason) = report.answer.as_ref().err().filter(|reason| reason.is_ours()) {
            return self.stay_unasked(reason, now);
        }
        let was = self.health.is_decided().then(|| self.health.is_healthy());
        let change = self.health.observe(report.answer.is_ok(), self.thresholds);
        self.answer = Some(report.answer.clone().map_err(|reason| reason.to_string()));
        self.answered = Some(now);
        let mut news = self.hear_weight(report);
        if was.is_none() || change.is_some() {
            self.since = Some(now);
            news.push(self.verdict(was, change));
        }
        news
    }

    /// Nothing is known of it: said once.
    fn stay_unasked(&mut self, reason: &Reason, now: Duration) -> Vec<News> {
        let answer = Some(Err(reason.to_string()));
        self.answered = Some(now);
        if self.answer == answer {
            return Vec::new();
        }
        self.answer = answer;
        vec![News::Unasked { who: self.who.clone(), reason: reason.to_string() }]
    }

    fn verdict(&self, was: Option<bool>, change: Option<Change>) -> News {
        let said = self.answer.as_ref().map_or("", |said| match said {
            Ok(answer) => answer,
            Err(reason) => reason,
        });
        let healthy = change.map_or(self.health.is_healthy(), |c| c == Change::BecameHealthy);
        News::Verdict { who: self.who.clone(), was, healthy, reason: said.to_owned() }
    }

    /// W-1: from every complete response, whatever its status.
    fn hear_weight(&mut self, report: &Report) -> Vec<News> {
        let Some(response) = report.response.as_ref().filter(|_| self.weighted) else {
            return Vec::new();
        };
        let said = self.weight.observe(response.weight.as_deref());
        self.weight_faults += u64::from(said.fault.is_some());
        let header = said.log.then(|| News::Header { who: self.who.clone(), fault: said.fault });
        let weight = self.weight.last_good().filter(|_| said.changed);
        let weight = weight.map(|weight| News::Weight { who: self.who.clone(), weight });
        header.into_iter().chain(weight).collect()
    }

    /// For people.
    pub fn row(&self, question: String) -> Row {
        Row {
            who: self.who.clone(),
            question,
            healthy: self.health.is_healthy(),
            decided: self.health.is_decided(),
            answer: self.answer.clone(),
            answered: self.answered,
            since: self.since,
            against: self.health.against(),
            weight: self.weight.last_good(),
            weight_faults: self.weight_faults,
        }
    }
}
