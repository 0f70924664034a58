//! Draws the pictures of `assets/` from what a terminal showed of the running program while
//! `stage.sh` beside this file was run: `cargo run --example pictures -- STAGE [DIRECTORY]`.
//!
//! STAGE is the directory that `stage.sh` writes. Every picture is a state of that screen, none is
//! made up; `plausible.rs` checks that what they show can be true.

mod animation;
mod svg;
mod typescript;

use std::io;
use std::path::Path;

use self::typescript::{ScreenState, read_states};

/// Selects the states that a picture may show.
type Filter = fn(&str) -> bool;

/// The pictures with the states of the terminal that they may show, of which the last is taken.
const PICTURES: [(&str, &str, Filter); 8] = [
    ("screen", "live", |text| {
        // While the copy is written back, in requests of 1 MiB.
        text.contains("[1 Live]")
            && text.contains("cp /srv")
            && text.contains("5 why")
            && text.contains("1 MiB")
    }),
    ("screen", "why", is_explained),
    ("screen", "requests", |text| {
        text.contains("[3 Requests]") && text.contains("OPERATIONS")
    }),
    ("screen", "launcher", |text| {
        text.contains("[2 Bench]") && text.contains("random-read") && text.contains("s start")
    }),
    ("screen", "run", |text| {
        // Near the end: after it the bar is full.
        is_running(text) && !text.contains("100 %")
    }),
    ("screen", "result", is_result),
    ("screen", "sessions", |text| {
        text.contains("[4 Sessions]") && text.contains("main metric")
    }),
    ("screen", "comparison", |text| text.contains("95 % CI")),
];

fn is_explained(text: &str) -> bool {
    text.contains("[5 Why]") && text.contains("problem found")
}

fn is_running(text: &str) -> bool {
    text.contains("[2 Bench (running)]")
        && text.contains(" left")
        && text.contains("IOPS over the run")
}

fn is_result(text: &str) -> bool {
    text.contains("[2 Bench]") && text.contains("export") && text.contains("Latency")
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let missing = || io::Error::other("the directory that stage.sh wrote is missing");
    let stage = arguments.next().ok_or_else(missing)?;
    let stage = Path::new(&stage);
    let directory = arguments.next().unwrap_or_else(|| "assets".into());
    let write = |name: &str, picture: String| {
        std::fs::write(
            Path::new(&directory).join(name).with_extension("svg"),
            picture,
        )
    };
    let screen = read_states(stage, "screen")?;
    for (_, name, filter) in PICTURES {
        match screen.iter().rfind(|state| filter(&state.text)) {
            Some(state) => write(name, svg::draw(&state.buffer))?,
            None => {
                return Err(io::Error::other(format!(
                    "no state of the screen is for {name}"
                )));
            }
        }
    }
    let replay = read_states(stage, "replay")?;
    let filter =
        |state: &&ScreenState| state.text.contains("replay") && state.text.contains("DEVICES");
    let last = replay.iter().rfind(filter);
    let last = last.ok_or_else(|| io::Error::other("no state of the replay"))?;
    write("replay", svg::draw(&last.buffer))?;
    write("animation", animation::draw(&scenes(&screen)))
}

/// The scenes of the animation: 24 seconds.
fn scenes(screen: &[ScreenState]) -> Vec<animation::Scene<'_>> {
    let of = |filter: fn(&str) -> bool| -> Vec<&ScreenState> {
        screen.iter().filter(|state| filter(&state.text)).collect()
    };
    vec![
        animation::Scene {
            caption: "Which process is it? A nightly copy fills the queue of sda (8 s show the whole time)",
            states: of(|text| text.contains("[1 Live]") && text.contains("DEVICES")),
            seconds: 8,
        },
        animation::Scene {
            caption: "5: who waits on what, because of whom, with the proof",
            states: of(is_explained),
            seconds: 4,
        },
        animation::Scene {
            caption: "b, s: a benchmark of that disk, reads only",
            states: of(|text| text.contains("[2 Bench]") && text.contains("s start")),
            seconds: 2,
        },
        animation::Scene {
            caption: "It runs",
            states: of(is_running),
            seconds: 5,
        },
        animation::Scene {
            caption: "The checks say what the figures are worth while another process uses the disk",
            states: of(is_result),
            seconds: 5,
        },
    ]
}
