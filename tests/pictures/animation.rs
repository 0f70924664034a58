//! An animated SVG picture: states of a terminal one after the other, one per second.

use std::collections::BTreeMap;

use crate::svg;
use crate::typescript::ScreenState;

/// A part of the animation.
pub struct Scene<'a> {
    /// A sentence below the screen.
    pub caption: &'static str,
    /// The states to choose from, in order of time.
    pub states: Vec<&'a ScreenState>,
    /// How long it lasts; as many states are shown, at equal distances up to the last.
    pub seconds: usize,
}

/// Draws the scenes. Each distinct row is drawn once, and shown in the seconds that contain it.
pub fn draw(scenes: &[Scene<'_>]) -> String {
    let mut rows: BTreeMap<(u16, String), Vec<usize>> = BTreeMap::new();
    let mut size = (0, 0);
    let mut second = 0;
    for scene in scenes {
        for step in 1..=scene.seconds {
            let last = scene.states.len().saturating_sub(1);
            let Some(state) = scene.states.get(last * step / scene.seconds) else {
                continue;
            };
            size = (state.buffer.area.width, state.buffer.area.height);
            for y in 0..size.1 {
                let row = svg::draw_row(&state.buffer, y);
                if !row.is_empty() {
                    rows.entry((y, row)).or_default().push(second);
                }
            }
            let caption = svg::draw_caption(scene.caption, size.1);
            rows.entry((size.1, caption)).or_default().push(second);
            second += 1;
        }
    }
    let mut body = String::new();
    for ((_, row), seconds) in rows {
        if seconds.len() == second {
            body.push_str(&row);
            continue;
        }
        body.push_str("<g visibility=\"hidden\">");
        body.push_str(&visibility(&seconds, second));
        body.push_str(&row);
        body.push_str("</g>\n");
    }
    svg::frame((size.0, size.1 + 2), &body)
}

/// The times at which a row is shown, as fractions of the whole.
fn visibility(seconds: &[usize], total: usize) -> String {
    let is_shown = |second: usize| seconds.contains(&second);
    let changes =
        (0..total).filter(|second| *second == 0 || is_shown(*second) != is_shown(second - 1));
    let (mut values, mut times) = (Vec::new(), Vec::new());
    for second in changes {
        values.push(if is_shown(second) {
            "visible"
        } else {
            "hidden"
        });
        times.push(format!("{:.4}", second as f64 / total as f64));
    }
    format!(
        "<animate attributeName=\"visibility\" calcMode=\"discrete\" dur=\"{total}s\" \
         repeatCount=\"indefinite\" values=\"{}\" keyTimes=\"{}\"/>\n",
        values.join(";"),
        times.join(";")
    )
}
