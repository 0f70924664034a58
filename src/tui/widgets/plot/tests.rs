use proptest::prelude::*;

use super::*;
use crate::session::document::{ChartAxis, MetricUnit};

fn plot_of<'a>(
    points: &'a [[f64; 2]],
    shape: ChartShape,
    axes: &'a [ChartAxis; 2],
) -> PlotWidget<'a> {
    PlotWidget {
        curves: vec![PlotCurve {
            confidence_intervals: &[],
            points,
            role: StyleRole::Read,
            marker_letter: None,
        }],
        shape,
        x_axis: &axes[0],
        y_axis: &axes[1],
        log_x: false,
        log_y: false,
        from_zero: true,
        x_bounds: None,
        marks: Vec::new(),
        theme: Theme::FULL,
    }
}

fn axes() -> [ChartAxis; 2] {
    [
        ChartAxis::named("time", MetricUnit::Nanoseconds),
        ChartAxis::named("throughput", MetricUnit::BytesPerSecond),
    ]
}

fn drawn_text(plot: &PlotWidget<'_>, width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buf = Buffer::empty(area);
    plot.render(area, &mut buf);
    let row = |y| {
        (0..width)
            .map(|x| buf[(x, y)].symbol().to_owned())
            .collect::<String>()
    };
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn plot_axes_show_their_units() {
    let points = [[0.0, 100e6], [5e9, 500e6], [10e9, 400e6]];
    let axes = axes();
    let text = drawn_text(&plot_of(&points, ChartShape::Line, &axes), 40, 12);
    for label in ["MB/s", "400", "10 s"] {
        assert!(text.contains(label), "{label}\n{text}");
    }
}

#[test]
fn log_y_axis_labels_have_own_units() {
    let points = [[0.0, 1e3], [5e9, 1e6], [10e9, 2e9]];
    let axes = axes();
    let mut plot = plot_of(&points, ChartShape::Line, &axes);
    plot.log_y = true;
    let text = drawn_text(&plot, 40, 24);
    for label in ["1 kB/s", "1 MB/s", "1 GB/s"] {
        assert!(text.contains(label), "{label}\n{text}");
    }
}

#[test]
fn plot_draws_line_and_label_of_marked_value() {
    let points = [[0.0, 100e6], [10e9, 100e6]];
    let axes = axes();
    let mut plot = plot_of(&points, ChartShape::Line, &axes);
    let mark = |label: &str, x| AxisMark {
        label: label.to_owned(),
        x,
    };
    plot.marks = vec![
        mark("beyond", 99e9),
        mark("cliff 5 s", 5e9),
        mark("end 10 s", 10e9),
    ];
    let text = drawn_text(&plot, 60, 10);
    let first = text.lines().next().unwrap();
    assert!(
        first.contains("MB/s") && first.contains("cliff 5 s"),
        "{text}"
    );
    assert!(first.ends_with("end 10 s"), "{text}");
    assert!(!text.contains("beyond"));
    let row: Vec<char> = text.lines().nth(5).unwrap().chars().collect();
    let middle = first.find("cliff 5 s").unwrap() + "cliff 5 s".len() / 2;
    assert!(row[middle - 1..=middle + 1].contains(&'│'), "{text}");
}

#[test]
fn plot_draws_bars_of_several_curves_side_by_side() {
    let axes = axes();
    let (one, other) = ([[1e9, 9e6], [2e9, 9e6]], [[1e9, 3e6], [2e9, 3e6]]);
    let mut plot = plot_of(&one, ChartShape::Bars, &axes);
    plot.curves.push(PlotCurve {
        confidence_intervals: &[],
        points: &other,
        role: StyleRole::Write,
        marker_letter: None,
    });
    let area = Rect::new(0, 0, 60, 12);
    let mut buf = Buffer::empty(area);
    (&plot).render(area, &mut buf);
    let coloured = |role| {
        let colour = Theme::FULL.role_colour(role);
        let row = (0..60).filter(|x| buf[(*x, 8)].fg == colour);
        row.collect::<Vec<u16>>()
    };
    let (reads, writes) = (coloured(StyleRole::Read), coloured(StyleRole::Write));
    assert!(reads.len() > 4 && writes.len() > 4, "{reads:?} {writes:?}");
    assert!(reads.iter().all(|column| !writes.contains(column)));
}

#[test]
fn lines_have_their_letters_at_intervals() {
    let (reads, writes) = ([[0.0, 9e6], [9e9, 9e6]], [[0.0, 3e6], [9e9, 3e6]]);
    let axes = axes();
    let mut plot = plot_of(&reads, ChartShape::Line, &axes);
    plot.curves[0].marker_letter = Some('r');
    plot.curves.push(PlotCurve {
        points: &writes,
        marker_letter: Some('w'),
        ..plot.curves[0]
    });
    let count = |text: &str, letter| text.chars().filter(|it| *it == letter).count();
    let text = drawn_text(&plot, 60, 12);
    for letter in ['r', 'w'] {
        assert!((2..=5).contains(&count(&text, letter)), "{text}");
    }
    // One curve alone needs no letter.
    plot.curves.truncate(1);
    assert_eq!(count(&drawn_text(&plot, 60, 12), 'r'), 0);
}

#[test]
fn empty_plot_shows_a_message() {
    let axes = axes();
    assert!(drawn_text(&plot_of(&[], ChartShape::Line, &axes), 40, 6).contains("nothing measured"));
}

proptest! {
    #[test]
    fn plot_draws_any_points_at_any_size(
        points in prop::collection::vec([any::<f64>(), any::<f64>()], 0..50),
        (width, height) in (1..100_u16, 1..40_u16),
        (log_x, log_y) in any::<(bool, bool)>(),
        marks in prop::collection::vec(any::<f64>(), 0..4),
        shape in prop::sample::select(vec![
            ChartShape::Line, ChartShape::Steps, ChartShape::Bars, ChartShape::StackedBars, ChartShape::Scatter, ChartShape::Polar,
        ]),
    ) {
        let axes = axes();
        let mut plot = plot_of(&points, shape, &axes);
        (plot.log_x, plot.log_y) = (log_x, log_y);
        let label = "a name".to_owned();
        plot.marks = marks.into_iter().map(|x| AxisMark { label: label.clone(), x }).collect();
        drawn_text(&plot, width, height);
    }
}
