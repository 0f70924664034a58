//! Simulated drives in virtual time, and a test run on them from begin to end.

use std::sync::Mutex;
use std::time::Duration;

use diskscope::bench::{self, Observer, Parameters, Progress, runner};
use diskscope::drive::{Target, TargetKind};
use diskscope::engine::simulated::hdd::{Access, Answer, Hdd};
use diskscope::engine::simulated::ssd::Ssd;
use diskscope::engine::{
    Control, CpuTime, End, Engine, EngineError, Outcome, Pattern, Plan, Request, Snapshot, Tally,
};
use diskscope::session::document::Findings;

pub enum Drive {
    Hdd(Box<Hdd>),
    Ssd(Box<Ssd>),
}

pub struct Virtual {
    pub drive: Mutex<(Drive, f64)>,
}

impl Engine for Virtual {
    fn name(&self) -> &'static str {
        "simulated"
    }
    fn features(&self) -> Vec<String> {
        Vec::new()
    }
    fn execute(
        &self,
        plan: &Plan,
        control: &Control,
        _observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<Outcome, EngineError> {
        let mut guard = self.drive.lock().unwrap();
        let (drive, now) = &mut *guard;
        *now += 3.3e6;
        let origin = *now;
        let Pattern::Addresses(addresses) = &plan.pattern else { panic!("addresses only") };
        let mut tally = Tally::default();
        let mut log = Vec::new();
        let bytes = plan.block_size.largest();
        for address in addresses.iter() {
            let spent = *now - origin;
            if control.is_cancelled()
                || plan.limits.duration.is_some_and(|limit| spent >= limit.as_nanos() as f64)
                || plan.limits.requests.is_some_and(|limit| tally.requests() >= limit)
                || plan.limits.bytes.is_some_and(|limit| tally.bytes() + u64::from(bytes) > limit)
            {
                break;
            }
            let access = Access { address: *address, bytes, write: false };
            let answer = match drive {
                Drive::Hdd(hdd) => hdd.serve(&access, *now),
                Drive::Ssd(ssd) => ssd.serve(&access, *now, 1.0),
            };
            let Answer::Done(done) = answer else { break };
            log.push(Request {
                address: *address,
                bytes,
                wrote: false,
                start_ns: (*now - origin) as u64,
                end_ns: (done - origin) as u64,
            });
            tally.read.latency.record((done - *now) as u64);
            tally.read.bytes += u64::from(bytes);
            *now = done + 20e3;
        }
        Ok(Outcome {
            end: End::Done,
            elapsed: Duration::from_nanos((*now - origin) as u64),
            tally,
            log,
            cpu: CpuTime::default(),
        })
    }
}

pub struct Silent;
impl Observer for Silent {
    fn progress(&mut self, _: &Progress) {}
    fn phase_finished(&mut self, _: &Findings) {}
}

pub fn target(size: u64) -> Target {
    Target {
        name: "sim:".to_owned(),
        kind: TargetKind::Simulated,
        size,
        logical_block: 512,
        physical_block: 512,
        memory_alignment: 512,
        direct: true,
        drive: None,
        file_system: None,
    }
}

pub fn run(test: &str, drive: Drive, set: &[(&'static str, bench::Value)]) -> (Findings, f64) {
    let size = match &drive {
        Drive::Hdd(hdd) => hdd.size(),
        Drive::Ssd(ssd) => ssd.size(),
    };
    let engine = Virtual { drive: Mutex::new((drive, 0.0)) };
    let target = target(size);
    let test = bench::find(test).unwrap();
    let mut parameters = Parameters::defaults(test.description().parameters, &target);
    for (name, value) in set {
        parameters.set(name, value.clone());
    }
    let finished =
        runner::run(test, &target, &parameters, &engine, &Control::default(), &mut Silent);
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let seconds = engine.drive.lock().unwrap().1 / 1e9;
    (finished.findings, seconds)
}
