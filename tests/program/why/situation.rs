//! What a staged situation is, how it is run, and how the answer is judged.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng as _, SeedableRng as _};
use serde_json::Value;

use super::{Load, diagnosis};
use crate::control_group::TestCgroup;
use crate::file_system::LoopFileSystem;
use crate::loop_device::LoopDevice;
use crate::slow_disk::SlowDisk;

/// Whether a situation is a problem.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    Yes,
    No,
    /// It depends on the parameters.
    Either,
}

/// One row of the table of situations.
pub(super) struct Situation {
    pub name: &'static str,
    /// What an expert says.
    pub expert: &'static str,
    /// The codes that say it; the first cause about the situation has one of them.
    pub codes: &'static [&'static str],
    pub problem: Problem,
    pub window: &'static str,
    /// Whether it is run while no other one is: it uses up the processors or switches swap on.
    pub is_alone: bool,
    /// Sets it up; `None` where the machine has not what it needs.
    pub stage: fn(&mut Draw) -> Option<Staged>,
}

/// Parameters at random, which can be drawn again from the same seed.
pub(super) struct Draw {
    generator: Xoshiro256PlusPlus,
    /// What was drawn, for the table.
    drawn: String,
}

impl Draw {
    fn new(seed: u64, name: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        (seed, name).hash(&mut hasher);
        Self {
            generator: Xoshiro256PlusPlus::seed_from_u64(hasher.finish()),
            drawn: String::new(),
        }
    }

    /// A number from `low` up to, and not including, `high`.
    pub fn number(&mut self, what: &str, low: u64, high: u64) -> u64 {
        let number = low + self.generator.next_u64() % (high - low);
        let _ = write!(self.drawn, " {what}={number}");
        number
    }

    /// A time in microseconds.
    pub fn micros(&mut self, what: &str, low: u64, high: u64) -> Duration {
        Duration::from_micros(self.number(&format!("{what}_us"), low, high))
    }
}

/// Something that a situation needs while it lasts.
pub(super) trait Held {
    /// Lets processes that wait for it end.
    fn release(&self) {}
}

impl Held for LoopDevice {}
impl Held for LoopFileSystem {}
impl Held for TestCgroup {}
impl Held for tempfile::TempDir {}

impl Held for SlowDisk {
    fn release(&self) {
        self.be_quick();
    }
}

/// A situation that is there, and what is to be said of it.
pub(super) struct Staged {
    load: Load,
    /// One of these is named as who waits.
    victims: Vec<u64>,
    /// One of these is named as who causes it.
    culprits: Vec<u64>,
    /// One of these is named in either way.
    named: Vec<u64>,
    /// Device, mount point or control group, which the cause names.
    object: Option<String>,
    /// Words that occur in what is said of it.
    words: Vec<String>,
    held: Vec<Box<dyn Held>>,
}

impl Staged {
    pub fn new(load: Load) -> Self {
        Self {
            load,
            victims: Vec::new(),
            culprits: Vec::new(),
            named: Vec::new(),
            object: None,
            words: Vec::new(),
            held: Vec::new(),
        }
    }

    /// Of these programs of the load, by their position, one is named as who waits.
    pub fn waits(mut self, of_load: &[usize]) -> Self {
        self.victims = self.pids(of_load);
        self
    }

    /// One of these is named as who causes it.
    pub fn causes(mut self, of_load: &[usize]) -> Self {
        self.culprits = self.pids(of_load);
        self
    }

    /// One of these is named.
    pub fn names(mut self, of_load: &[usize]) -> Self {
        self.named = self.pids(of_load);
        self
    }

    fn pids(&self, of_load: &[usize]) -> Vec<u64> {
        let pids = self.load.pids();
        of_load.iter().map(|index| pids[*index]).collect()
    }

    /// Where it is.
    pub fn on(mut self, object: impl Into<String>) -> Self {
        self.object = Some(object.into());
        self
    }

    /// A word that occurs in what is said of it.
    pub fn says(mut self, word: impl Into<String>) -> Self {
        self.words.push(word.into());
        self
    }

    /// What it needs; what was given first goes first.
    pub fn holding(mut self, held: impl Held + 'static) -> Self {
        self.held.push(Box::new(held));
        self
    }

    /// Whether a cause is about this situation.
    fn is_about(&self, cause: &Value) -> bool {
        let mut victims = self.victims.iter();
        if cause["severity"] == "note" && !self.victims.is_empty() {
            // What limits the culprit itself is another thing than who waits for it.
            return victims.any(|pid| has_party(&cause["victims"], *pid));
        }
        let pids = [&self.victims, &self.culprits, &self.named];
        let mut pids = pids.into_iter().flatten();
        let names_object = |object: &String| {
            [&cause["device"], &cause["file"], &cause["sentence"]]
                .iter()
                .any(|it| it.as_str().is_some_and(|text| has_word(text, object)))
        };
        pids.any(|pid| has_party(&cause["victims"], *pid) || has_party(&cause["who"], *pid))
            || self.object.as_ref().is_some_and(names_object)
    }

    /// What is wrong with a cause that is about this situation.
    fn faults(&self, situation: &Situation, cause: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        let code = cause["code"].as_str().unwrap_or_default();
        if !situation.codes.contains(&code) {
            faults.push(format!("code is {code}"));
        }
        let is_problem = cause["severity"] != "note";
        match situation.problem {
            Problem::Yes if !is_problem => faults.push("is no problem".to_owned()),
            Problem::No if is_problem => faults.push("is a problem".to_owned()),
            _ => {}
        }
        let lacks = |key: &str, pids: &[u64]| {
            !pids.is_empty() && !pids.iter().any(|pid| has_party(&cause[key], *pid))
        };
        if lacks("victims", &self.victims) {
            faults.push(format!("victim {:?} is missing", self.victims));
        }
        if lacks("who", &self.culprits) {
            faults.push(format!("culprit {:?} is missing", self.culprits));
        }
        if lacks("victims", &self.named) && lacks("who", &self.named) {
            faults.push(format!("process {:?} is missing", self.named));
        }
        let text = cause.to_string();
        for word in self.object.iter().chain(&self.words) {
            if !has_word(&text, word) {
                faults.push(format!("{word:?} is missing"));
            }
        }
        faults
    }
}

impl Drop for Staged {
    /// What holds processes back goes before they are killed; the devices go last.
    fn drop(&mut self) {
        for held in &self.held {
            held.release();
        }
    }
}

fn has_party(parties: &Value, pid: u64) -> bool {
    let parties = parties.as_array().into_iter().flatten();
    parties.into_iter().any(|party| party["pid"] == pid)
}

/// Whether a text has these words, not as a part of longer ones: `loop1` is not in `loop12`.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(start, _)| {
        let next = text[start + word.len()..].chars().next();
        next.is_none_or(|it| !it.is_ascii_alphanumeric())
    })
}

/// How a situation went.
pub(super) struct Outcome {
    pub situation: &'static Situation,
    parameters: String,
    /// `None` where it could not be staged.
    faults: Option<Vec<String>>,
    said: String,
    document: Value,
}

impl Outcome {
    pub fn is_right(&self) -> bool {
        self.faults.as_ref().is_none_or(Vec::is_empty)
    }

    pub fn was_staged(&self) -> bool {
        self.faults.is_some()
    }

    /// Two lines for the table.
    fn text(&self) -> String {
        let verdict = match &self.faults {
            None => "not staged".to_owned(),
            Some(faults) if faults.is_empty() => "right".to_owned(),
            Some(faults) => format!("WRONG: {}", faults.join(", ")),
        };
        let (name, parameters) = (self.situation.name, &self.parameters);
        format!(
            "{name}: {verdict} ({})\n    {}",
            parameters.trim(),
            self.said
        )
    }

    /// What is needed to understand a wrong answer.
    fn report(&self) -> String {
        format!(
            "{}\n{}\n{:#}",
            self.text(),
            self.situation.expert,
            self.document
        )
    }
}

/// Stages a situation, asks, and judges the answer.
pub(super) fn run(situation: &'static Situation, seed: u64) -> Outcome {
    let mut draw = Draw::new(seed, situation.name);
    let mut outcome = Outcome {
        situation,
        parameters: String::new(),
        faults: None,
        said: String::new(),
        document: Value::Null,
    };
    let staged = (situation.stage)(&mut draw);
    outcome.parameters = draw.drawn;
    let Some(staged) = staged else {
        return outcome;
    };
    let document = diagnosis(situation.window);
    let causes = document["causes"].as_array().into_iter().flatten();
    // Numbers of loop devices are reused: the kernel log may name the device of an earlier one.
    let expects_errors = situation.codes.contains(&"drive-errors");
    let mut own = causes.filter(|cause| {
        staged.is_about(cause) && (expects_errors || cause["code"] != "drive-errors")
    });
    let faults = match own.next() {
        Some(cause) => {
            let (code, severity) = (&cause["code"], &cause["severity"]);
            outcome.said = format!("{code} {severity} {}", cause["sentence"]);
            staged.faults(situation, cause)
        }
        None if are_processors_disturbed(situation, &document) => {
            outcome.said = "not judged: other work waits for I/O meanwhile".to_owned();
            Vec::new()
        }
        None if situation.codes.contains(&"not-io") && says(&document, "not-io") => Vec::new(),
        None => {
            outcome.said = document["sentence"].to_string();
            vec!["nothing is said of it".to_owned()]
        }
    };
    outcome.faults = Some(faults);
    outcome.document = document;
    drop(staged);
    outcome
}

fn says(document: &Value, code: &str) -> bool {
    let causes = document["causes"].as_array().into_iter().flatten();
    causes.into_iter().any(|cause| cause["code"] == code)
}

/// Other tests wait for I/O at the same time: then the processors are not the only limit.
fn are_processors_disturbed(situation: &Situation, document: &Value) -> bool {
    let mut evidence = document["evidence"].as_array().into_iter().flatten();
    situation.codes == ["not-io"]
        && evidence.any(|it| it["name"] == "io_pressure_some" && it["value"].as_f64() >= Some(0.2))
}

/// Situations that are there at the same time, each on devices of its own.
const LANES: usize = 2;

/// Runs the situations, two at a time where they do not disturb each other.
pub(super) fn run_all(situations: &[&'static Situation], seed: u64) -> Vec<Outcome> {
    let (alone, together): (Vec<_>, Vec<_>) =
        situations.iter().copied().partition(|it| it.is_alone);
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while let Some(situation) = together.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let outcome = run(situation, seed);
                    println!("{}", outcome.text());
                    outcomes.lock().unwrap().push(outcome);
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap();
    for situation in alone {
        let outcome = run(situation, seed);
        println!("{}", outcome.text());
        outcomes.push(outcome);
    }
    outcomes
}

/// Everything about the wrong answers.
pub(super) fn reports<'o>(outcomes: impl IntoIterator<Item = &'o Outcome>) -> String {
    let wrong = outcomes.into_iter().filter(|it| !it.is_right());
    wrong.map(Outcome::report).collect::<Vec<_>>().join("\n\n")
}
