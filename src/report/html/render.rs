//! Blocks as markup.

use maud::{Markup, html};

use super::plot;
use crate::report::blocks::{Align, Block, Card, Cell, Table, Tone};
use crate::report::words::session_letter;
use crate::session::document::Severity;

/// The blocks in their order; charts next to each other where the page is wide enough.
pub(super) fn blocks_markup(blocks: &[Block]) -> Markup {
    let is_chart = |block: &Block| matches!(block, Block::Chart(_) | Block::Latency { .. });
    html! {
        @for alike in blocks.chunk_by(|left, right| is_chart(left) && is_chart(right)) {
            @if alike.iter().all(is_chart) {
                div.charts { @for chart in alike { (block_markup(chart)) "\n" } }
            } @else {
                @for block in alike { (block_markup(block)) }
            }
            "\n"
        }
    }
}

fn block_markup(block: &Block) -> Markup {
    match block {
        Block::Title {
            name,
            subject,
            status,
        } => html! {
            h2 { (name) " " span.state.(class_of(status.tone).unwrap_or_default()) { (status.text) } }
            @if !subject.is_empty() { p.subject { (subject) } }
        },
        Block::Heading(words) => html! { h3 { (capitalized(words)) } },
        Block::Sentences(sentences) => html! {
            @for sentence in sentences.iter().filter(|it| !it.text.is_empty()) {
                p class=[class_of(sentence.tone)] { (sentence.text) }
            }
        },
        Block::Verdict {
            severity,
            lead,
            sentence,
            advice,
        } => html! {
            div.verdict.(class_of_severity(*severity)) {
                p { b { (lead) } " " (sentence) }
                @if !advice.is_empty() { p.soft { (advice) } }
            }
        },
        Block::Facts(facts) => html! {
            dl { @for (name, value) in facts { dt { (name) } dd { (value) } } }
        },
        Block::Table(table) => table_markup(table),
        Block::Cards(cards) => html! {
            div.cards { @for card in cards { (card_markup(card)) } }
        },
        Block::Sessions(sessions) => html! {
            ul.legend.sides {
                @for (index, session) in sessions.iter().enumerate() {
                    li class=(plot::colour_class(index)) { (session_letter(index)) " " (session) }
                }
            }
        },
        Block::Chart(chart) => plot::chart_figure(chart),
        Block::Latency {
            title,
            colour,
            summary,
        } => plot::distribution_chart(title, &plot::colour_class(*colour), summary),
        Block::Commands(lines) => html! { pre { @for line in lines { (line) "\n" } } },
    }
}

fn class_of(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Soft => Some("soft"),
        Tone::Good => Some("good"),
        Tone::Trouble => Some("trouble"),
    }
}

pub(super) fn class_of_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Invalid => "invalid",
    }
}

fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

fn table_markup(table: &Table) -> Markup {
    let class = |align: &Align| match align {
        Align::Left => None,
        Align::Right => Some("n"),
    };
    let cell = |(cell, (_, align)): (&Cell, &(String, Align))| {
        let classes = [class(align), class_of(cell.tone)];
        let classes: Vec<&str> = classes.into_iter().flatten().collect();
        html! { td class=[(!classes.is_empty()).then(|| classes.join(" "))] { (cell.text) } }
    };
    html! {
        div.wide {
            table {
                @if table.has_heading() {
                    thead {
                        tr { @for (name, align) in &table.columns { th class=[class(align)] { (name) } } }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr { @for each in row.iter().zip(&table.columns) { (cell(each)) } }
                    }
                }
            }
        }
    }
}

fn card_markup(card: &Card) -> Markup {
    let (value, unit) = card.value.split_once(' ').unwrap_or((&card.value, ""));
    html! {
        div.card {
            h3 { (card.label) }
            p.value { (value) span { (unit) } }
            @if let Some(interval) = &card.interval { p.soft { "95 % CI: " (interval) } }
        }
    }
}
