//! Comma-separated values (RFC 4180). Columns are named after the keys of the JSON, and a value is
//! written as there: numbers unrounded, in the same unit.

use serde::Serialize;
use serde_json::{Value, json};

use crate::columns::{self, Entity};
use crate::session::compare::{Comparison, FleetComparison};
use crate::session::document::Session;

/// The metrics of a session, a row for each.
const SESSION_TABLE: CsvTable =
    CsvTable("run,started,test,target,state,severity,name,value,unit,low,high,observations");

/// The compared metrics, a row for each session.
const COMPARISON_TABLE: CsvTable = CsvTable(
    "benchmark,session,baseline,metric,unit,better,value,low,high,runs,ratio,\
    ratio_low,ratio_high",
);

/// Many drives by one metric, a row for each.
const FLEET_TABLE: CsvTable = CsvTable(
    "benchmark,name,host,target,model,serial,metric,unit,value,low,high,median,\
    relative_distance,outlier,cautions",
);

/// A table whose rows are JSON objects.
#[derive(Debug, Clone, Copy)]
pub struct CsvTable(
    /// The keys in the order of the columns, separated by commas.
    pub &'static str,
);

impl CsvTable {
    /// The heading, with its line end.
    #[must_use]
    pub fn heading(&self) -> String {
        self.0.to_owned() + "\n"
    }

    /// One record as a row with its line end. What the record lacks, or has as null, is empty; a
    /// list is its items, separated by spaces.
    ///
    /// # Errors
    /// When the record cannot be converted to JSON.
    pub fn row(&self, record: &impl Serialize) -> serde_json::Result<String> {
        let record = serde_json::to_value(record)?;
        let columns = self.0.split(',');
        let fields = columns.map(|column| field_text(&record[column]));
        let fields: Vec<String> = fields.map(|field| quoted(&field)).collect();
        Ok(fields.join(",") + "\n")
    }

    /// The heading, and a row for each record.
    ///
    /// # Errors
    /// When a record cannot be converted to JSON.
    pub fn to_csv<R: Serialize>(
        &self,
        records: impl IntoIterator<Item = R>,
    ) -> serde_json::Result<String> {
        let mut text = self.heading();
        for record in records {
            text += &self.row(&record)?;
        }
        Ok(text)
    }
}

/// The heading of the rows of [`csv_row`], with its line end; `first` are columns before it.
#[must_use]
pub fn csv_heading<E: Entity>(first: &[&str]) -> String {
    let keys = csv_columns::<E>().map(|column| column.key);
    let fields: Vec<&str> = first.iter().copied().chain(keys).collect();
    fields.join(",") + "\n"
}

/// Rows of an entity with their heading.
#[must_use]
pub fn entity_csv<E: Entity>(rows: &[E]) -> String {
    let rows = rows.iter().map(|row| csv_row(&[], row));
    csv_heading::<E>(&[]) + &rows.collect::<String>()
}

/// The columns that the JSON has.
fn csv_columns<E: Entity>() -> impl Iterator<Item = &'static columns::Column<E>> {
    E::COLUMNS.iter().filter(|column| column.in_json)
}

/// All columns of a row, unrounded, in the unit of the JSON; `first` are the values before them.
#[must_use]
pub fn csv_row<E: Entity>(first: &[&str], row: &E) -> String {
    let values = csv_columns::<E>().map(|column| match (column.get)(row) {
        columns::Value::Unknown | columns::Value::Absent => String::new(),
        columns::Value::Number(number) => number.to_string(),
        columns::Value::Text(text) => quoted(&text),
    });
    let first = first.iter().map(|field| quoted(field));
    let fields: Vec<String> = first.chain(values).collect();
    fields.join(",") + "\n"
}

/// The metrics of all runs; `severity` is the worst of the run's checks.
///
/// # Errors
/// When a record cannot be converted to JSON.
pub fn session_csv(session: &Session) -> serde_json::Result<String> {
    let mut records = Vec::new();
    for (index, run) in session.runs.iter().enumerate() {
        let worst = run
            .findings
            .verdicts
            .iter()
            .map(|verdict| verdict.severity)
            .max();
        for metric in &run.findings.metrics {
            records.push(json!({
                "run": index + 1,
                "started": run.started,
                "test": run.test,
                "target": run.target.path,
                "state": run.state,
                "severity": worst,
                "name": metric.id,
                "value": metric.value,
                "unit": metric.unit,
                "low": metric.low,
                "high": metric.high,
                "observations": metric.observations,
            }));
        }
    }
    SESSION_TABLE.to_csv(records)
}

/// The metrics of a comparison of sessions.
///
/// # Errors
/// When a record cannot be converted to JSON.
pub fn comparison_csv(comparison: &Comparison) -> serde_json::Result<String> {
    let mut records = Vec::new();
    for benchmark in &comparison.benchmarks {
        for metric in &benchmark.metrics {
            for (index, sample) in metric.samples.iter().enumerate() {
                let Some(sample) = sample else { continue };
                let ratio = sample.against_baseline.as_ref();
                records.push(json!({
                    "benchmark": benchmark.benchmark,
                    "session": comparison.sessions.get(index).map(|session| &session.name),
                    "baseline": index == metric.baseline,
                    "metric": metric.id,
                    "unit": metric.unit,
                    "better": metric.better,
                    "value": sample.value,
                    "low": sample.low,
                    "high": sample.high,
                    "runs": sample.runs,
                    "ratio": ratio.map(|it| it.ratio),
                    "ratio_low": ratio.and_then(|it| it.low),
                    "ratio_high": ratio.and_then(|it| it.high),
                }));
            }
        }
    }
    COMPARISON_TABLE.to_csv(records)
}

/// The drives of a comparison by one metric.
///
/// # Errors
/// When a record cannot be converted to JSON.
pub fn fleet_csv(fleet: &FleetComparison) -> serde_json::Result<String> {
    let mut records = Vec::new();
    for table in &fleet.tables {
        for row in &table.rows {
            let peers = row.peers.as_ref();
            records.push(json!({
                "benchmark": table.benchmark,
                "name": row.name,
                "host": row.host,
                "target": row.target,
                "model": row.model,
                "serial": row.serial,
                "metric": fleet.metric,
                "unit": table.unit,
                "value": row.value,
                "low": row.low,
                "high": row.high,
                "median": peers.map(|it| it.median),
                "relative_distance": peers.map(|it| it.relative_distance),
                "outlier": peers.map(|it| it.outlier),
                "cautions": row.cautions,
            }));
        }
    }
    FLEET_TABLE.to_csv(records)
}

fn field_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(field_text).collect();
            items.join(" ")
        }
        other => other.to_string(),
    }
}

/// A field in quotes where it needs them.
fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) || field.starts_with(' ') || field.ends_with(' ') {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn csv_row_quotes_fields_and_leaves_unknown_ones_empty() {
        let table = CsvTable("name,size,rate,users,gone");
        assert_eq!(table.heading(), "name,size,rate,users,gone\n");
        let record = json!({
            "name": "a \"b\", c", "size": 512, "rate": 1.5, "users": ["x", "y"], "gone": null,
            "not listed": 1,
        });
        let row = table.row(&record).unwrap();
        assert_eq!(row, "\"a \"\"b\"\", c\",512,1.5,x y,\n");
    }
}
