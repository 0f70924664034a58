//! Generates the rows of metrics in the tables of `docs/fields.md` from the columns.

use std::path::Path;

use diskscope::columns::{Column, Entity};
use diskscope::snapshot::Snapshot;
use diskscope::snapshot::view::{
    BlockedTaskView, DeviceView, GrowingFile, IoErrorsView, MountView, ProcessView, TransferView,
    UnitView,
};
use diskscope::trace::hot_files::view::HotFileView;

/// The rows of each section, whose table has further rows, of texts, before them.
fn sections() -> Vec<(&'static str, Vec<String>)> {
    vec![
        ("## `host`", rows::<Snapshot>("")),
        ("## `devices[]`", rows::<DeviceView>("")),
        ("## `processes[]`", rows::<ProcessView>("")),
        ("## `units[]`", rows::<UnitView>("")),
        ("## `transfers[]`", rows::<TransferView>("")),
        ("## `mounts[]`", rows::<MountView>("")),
        ("## `blocked[]`", rows::<BlockedTaskView>("")),
        ("## `io_errors[]`", rows::<IoErrorsView>("")),
        ("## `growing[]`", rows::<GrowingFile>("")),
        (
            "# `diskscope files --hot --json`",
            rows::<HotFileView>("files[]."),
        ),
    ]
}

fn rows<E: Entity>(prefix: &str) -> Vec<String> {
    let numbers = E::COLUMNS.iter().filter(|column| column.is_number());
    numbers.map(|column| row(column, prefix)).collect()
}

fn row<E: Entity>(column: &Column<E>, prefix: &str) -> String {
    let derived = if column.in_json { "" } else { " \\*" };
    let counter = column.counter.as_ref();
    let counter = counter.map_or_else(String::new, |it| format!("; counter `{}`", it.name));
    format!(
        "| `{prefix}{}`{derived} | {} | {} | {}{counter} |\n",
        column.key,
        names(column),
        column.unit.symbol(),
        column.help
    )
}

fn names<E: Entity>(column: &Column<E>) -> String {
    let heading = (column.is_in_tables() || !column.in_json).then_some(column.name);
    let all: Vec<&str> = heading.iter().chain(column.aliases).copied().collect();
    all.join(", ")
}

/// The field of a row, with what marks it as derived.
fn field(row: &str) -> &str {
    row.split(" | ").next().unwrap_or_default()
}

/// The page with these rows at the end of the first table of a section.
fn with_rows(page: &str, section: &str, rows: &[String]) -> String {
    let (before, rest) = page.split_once(&format!("{section}\n")).expect(section);
    let begin = rest.find("| field |").expect(section);
    let table = &rest[begin..];
    let end = table.find("\n\n").expect(section) + 1;
    let is_text =
        |line: &&str| line.ends_with('\n') && rows.iter().all(|row| field(row) != field(line));
    let texts: String = table[..end].split_inclusive('\n').filter(is_text).collect();
    let (rows, after) = (rows.concat(), &table[end..]);
    format!("{before}{section}\n{}{texts}{rows}{after}", &rest[..begin])
}

#[test]
fn columns_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/fields.md");
    let written = std::fs::read_to_string(&path).unwrap();
    let page = sections().iter().fold(written.clone(), |page, section| {
        with_rows(&page, section.0, &section.1)
    });
    if std::env::var_os(super::BLESS_VARIABLE).is_some() {
        std::fs::write(&path, &page).unwrap();
        return;
    }
    assert!(
        written == page,
        "docs/fields.md is out of date: run DISKSCOPE_BLESS=1 cargo test columns_page"
    );
}
