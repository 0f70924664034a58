//! Draws a picture of each screen, from the real widgets and made-up data:
//! `cargo run --example pictures [DIRECTORY] [WIDTHxHEIGHT]`.

mod canned;
mod svg;

use std::path::Path;

use diskscope::app::AppState;
use diskscope::ui::{self, Theme};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| "assets".to_owned());
    let size = arguments.next().unwrap_or_else(|| "120x40".to_owned());
    let (width, height) = size
        .split_once('x')
        .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)))
        .ok_or_else(|| std::io::Error::other(format!("{size} is no size such as 120x40")))?;
    for (name, screen) in canned::screens() {
        let picture = svg::draw(&draw_to_buffer(&screen(), width, height));
        std::fs::write(Path::new(&directory).join(format!("{name}.svg")), picture)?;
    }
    Ok(())
}

fn draw_to_buffer(state: &AppState, width: u16, height: u16) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    ui::draw(state, &Theme::FULL, area, &mut buffer);
    buffer
}
