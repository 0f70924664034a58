//! The text of a picture, as the terminal showed it.

/// Width and height of a cell, and the margin, in `tests/pictures/svg.rs`.
const CELL: (f64, f64) = (8.4, 18.0);
const MARGIN: f64 = 14.0;

/// The screens that a picture shows one after the other, each as rows of text.
pub fn screens(svg: &str) -> Vec<Vec<String>> {
    let seconds = attribute(svg, "dur").and_then(|text| text.trim_end_matches('s').parse().ok());
    let count: usize = seconds.unwrap_or(1);
    (0..count)
        .map(|second| rows(&visible(svg, second as f64 / count as f64)))
        .collect()
}

/// What is visible at a time, as a fraction of the whole: groups with an animation may be hidden.
fn visible(svg: &str, time: f64) -> String {
    let mut shown = String::new();
    for piece in svg.split("<g visibility=\"hidden\">") {
        let (group, rest) = match piece.split_once("</g>") {
            Some((group, rest)) if group.contains("<animate") => (group, rest),
            _ => ("", piece),
        };
        if is_visible(group, time) {
            shown.push_str(group);
        }
        shown.push_str(rest);
    }
    shown
}

fn is_visible(group: &str, time: f64) -> bool {
    let values = attribute(group, "values").unwrap_or_default();
    let times = attribute(group, "keyTimes").unwrap_or_default();
    let times = times.split(';').filter_map(|time| time.parse::<f64>().ok());
    let mut states = values.split(';').zip(times);
    let last = states
        .by_ref()
        .take_while(|(_, from)| *from <= time + 1e-3)
        .last();
    last.is_some_and(|(value, _)| value == "visible")
}

fn rows(svg: &str) -> Vec<String> {
    let mut rows: Vec<Vec<char>> = Vec::new();
    for element in svg.split("<text ").skip(1) {
        let (attributes, rest) = element.split_once('>').unwrap();
        let number = |name| attribute(attributes, name)?.parse::<f64>().ok();
        let (Some(x), Some(y)) = (number("x"), number("y")) else {
            continue;
        };
        let text = rest.split_once("</text>").unwrap().0;
        let text = text
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&");
        let row = ((y - MARGIN) / CELL.1) as usize;
        let column = ((x - MARGIN) / CELL.0).round() as usize;
        rows.resize(rows.len().max(row + 1), Vec::new());
        let cells = &mut rows[row];
        let end = column + text.chars().count();
        cells.resize(cells.len().max(end), ' ');
        for (cell, letter) in cells[column..].iter_mut().zip(text.chars()) {
            *cell = letter;
        }
    }
    rows.into_iter().map(String::from_iter).collect()
}

fn attribute(element: &str, name: &str) -> Option<String> {
    let start = element.find(&format!("{name}=\""))? + name.len() + 2;
    element[start..].split('"').next().map(str::to_owned)
}
