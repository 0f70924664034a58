use super::*;
use crate::files::safe_text::SafeText;
use crate::session::checks::all_rules;
use crate::session::document::check::{
    CheckCode, CheckEvidence, CheckId, CompetingTraffic, DepthAdvice, DepthPoint, OptimumDoubt,
};
use crate::session::document::{Attribution, OtherUser, Severity, Verdict};

#[test]
fn every_rule_has_condition_and_other_checks_have_none() {
    for check in CheckId::ALL {
        let is_rule = all_rules().any(|rule| rule.id == *check);
        assert_eq!(condition(*check).is_some(), is_rule, "{}", check.code());
        let text = condition(*check).unwrap_or_default();
        assert!(!text.ends_with('.'), "{}", check.code());
    }
}

#[test]
fn verdict_gets_sentences_once() {
    let evidence = CheckEvidence::NoPageCache;
    let mut verdicts = [Verdict::from(evidence.clone())];
    describe_verdicts(&mut verdicts);
    let text = check_text(&evidence);
    assert_eq!(verdicts[0].evidence, *text.evidence);
    verdicts[0].evidence = "stored".into();
    describe_verdicts(&mut verdicts);
    assert_eq!(verdicts[0].evidence, "stored");
}

#[test]
fn verdict_of_another_version_keeps_its_sentences() {
    let mut verdicts = [Verdict {
        code: CheckCode::from("of-the-future"),
        severity: Severity::Note,
        evidence: "seen".into(),
        advice: SafeText::new(),
        facts: None,
    }];
    describe_verdicts(&mut verdicts);
    assert_eq!(verdicts[0].evidence, "seen");
}

#[test]
fn other_users_are_named_with_certainty() {
    let text = |users: Vec<OtherUser>| {
        check_text(&CheckEvidence::OtherUsers(CompetingTraffic {
            issued_bytes: 500_000_000,
            device: "sda".into(),
            read_bytes: 100_000_000,
            written_bytes: 0,
            users,
        }))
    };
    let backup = OtherUser {
        pid: 4711,
        command: "backup".into(),
        read_bytes: 100_000_000,
        written_bytes: 0,
        attribution: Attribution::HasOpenDescriptor,
    };
    assert_eq!(
        text(vec![backup]).evidence,
        "in addition to the benchmark's 500 MB, sda served 100 MB of reads for other processes: \
         backup (4711: 100 MB, has it open)"
    );
    assert!(text(Vec::new()).evidence.ends_with("may not see them"));
}

#[test]
fn undetermined_optimum_is_written_in_units_of_the_sweep() {
    let doubt = OptimumDoubt::NotSeparated {
        smaller: 131_072.0,
        larger: 262_144.0,
    };
    let text = check_text(&CheckEvidence::NoBestReadAhead(doubt)).evidence;
    assert!(text.contains("between 128 KiB and 256 KiB"), "{text}");
    let doubt = OptimumDoubt::NoDifference {
        first: 1.0,
        last: 256.0,
    };
    let text = check_text(&CheckEvidence::NoOptimalDepth(doubt)).evidence;
    assert!(text.contains("the depths from 1 to 256"), "{text}");
}

#[test]
fn depth_advice_names_second_depth_only_if_it_has_more_iops() {
    let point = |depth, iops| DepthPoint {
        depth,
        iops,
        p90_ns: None,
    };
    let advice = |max_iops| {
        let optimal = point(4.0, 200.0);
        check_text(&CheckEvidence::AdviceQueueDepth(DepthAdvice {
            optimal,
            max_iops,
        }))
        .advice
    };
    assert!(advice(Some(point(64.0, 400.0))).contains("up to 64"));
    assert_eq!(advice(None), "keep about 4 requests in flight");
}
