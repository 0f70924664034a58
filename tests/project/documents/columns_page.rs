//! Generates the tables of metrics in `docs/fields.md` from the columns.

use std::fmt::Write as _;
use std::path::Path;

use diskscope::columns::{Column, Entity};
use diskscope::snapshot::Snapshot;
use diskscope::snapshot::view::{
    BlockedTaskView, DeviceView, GrowingFile, IoErrorsView, MountView, ProcessView, TransferView,
    UnitView,
};
use diskscope::trace::hot_files::view::HotFileView;

const END: &str = "<!-- end of columns -->\n";

/// The name of each table on the page, and whether its metrics are exported by OpenMetrics.
fn tables() -> Vec<(&'static str, String)> {
    vec![
        ("host", table::<Snapshot>(true)),
        ("devices", table::<DeviceView>(true)),
        ("processes", table::<ProcessView>(false)),
        ("units", table::<UnitView>(true)),
        ("transfers", table::<TransferView>(false)),
        ("mounts", table::<MountView>(false)),
        ("blocked", table::<BlockedTaskView>(false)),
        ("io_errors", table::<IoErrorsView>(false)),
        ("growing", table::<GrowingFile>(false)),
        ("hot files", table::<HotFileView>(false)),
    ]
}

fn table<E: Entity>(is_exported: bool) -> String {
    let exported = if is_exported {
        " OpenMetrics `diskscope_...` |"
    } else {
        ""
    };
    let line = if is_exported { "---|" } else { "" };
    let mut text =
        format!("| field | also | unit | meaning |{exported}\n|---|---|---|---|{line}\n");
    for column in E::COLUMNS.iter().filter(|column| column.is_number()) {
        let derived = if column.in_json { "" } else { " \\*" };
        let _ = write!(
            text,
            "| `{}`{derived} | {} | {} | {} |",
            column.key,
            quoted(&names(column)),
            column.unit.symbol(),
            column.help
        );
        if is_exported {
            let counter = column.counter_name().map(|name| format!("{name}_total"));
            let exported: Vec<String> = counter.into_iter().chain(column.gauge_name()).collect();
            let _ = write!(text, " {} |", quoted(&exported));
        }
        text.push('\n');
    }
    text
}

fn names<E: Entity>(column: &Column<E>) -> Vec<String> {
    let heading = (column.is_in_tables() || !column.in_json).then_some(column.name);
    let all = heading.iter().chain(column.aliases);
    all.map(|name| (*name).to_owned()).collect()
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

#[test]
fn columns_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/fields.md");
    let mut page = std::fs::read_to_string(&path).unwrap();
    let written = page.clone();
    for (name, table) in tables() {
        let begin = format!("<!-- columns of {name} -->\n");
        let (before, rest) = page.split_once(&begin).expect(name);
        let (_, after) = rest.split_once(END).expect(name);
        page = format!("{before}{begin}{table}{END}{after}");
    }
    if std::env::var_os(super::BLESS_VARIABLE).is_some() {
        std::fs::write(&path, &page).unwrap();
        return;
    }
    assert!(
        written == page,
        "docs/fields.md is out of date: run DISKSCOPE_BLESS=1 cargo test columns_page"
    );
}
