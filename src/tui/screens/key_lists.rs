//! Every list of keys.

use crate::tui::keys::KeyList;
use crate::tui::keys::common;
use crate::tui::screens::{bench, live, requests, sessions, why};

/// Every list of keys, in the order of the help.
pub static KEY_LISTS: [&KeyList; 29] = [
    &common::GLOBAL,
    &common::MOVEMENT,
    &live::keys::LIVE,
    &live::keys::PANE,
    &live::keys::UNITS,
    &live::keys::HOT_FILES,
    &live::keys::REPLAY,
    &live::keys::REPLAY_FIELD,
    &common::FILTER,
    &bench::keys::LAUNCHER,
    &bench::keys::SEARCH,
    &bench::keys::FORM,
    &bench::keys::FIELD,
    &bench::keys::OVERWRITE_CONSENT,
    &bench::keys::OVERWRITE_REFUSED,
    &common::TEXT_EDITING,
    &bench::keys::RUNNING,
    &bench::keys::RESULT,
    &requests::keys::REQUESTS,
    &why::keys::WHY,
    &sessions::keys::SESSIONS,
    &sessions::keys::NOTE,
    &sessions::keys::DELETION,
    &sessions::keys::COMPARISON,
    &common::HELP,
    &common::HELP_SEARCH,
    &common::QUESTION,
    &common::DESTRUCTIVE_QUESTION,
    &common::CHOICE_LIST,
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::app::key::KeyPress;
    use crate::tui::keys::common::{FILTER, HELP, QUESTION};
    use crate::tui::keys::{KeyCommand, find_command};
    use crate::tui::screens::live::keys::{LIVE, REPLAY};
    use crate::tui::screens::requests::keys::REQUESTS;

    #[test]
    fn no_list_binds_a_key_twice_and_every_help_fits_its_column() {
        for list in KEY_LISTS {
            let mut seen = HashSet::new();
            for binding in list.bindings {
                // The help shows keys and text in columns of 60, of which two separate the columns.
                assert!(binding.help.chars().count() <= 40, "{:?}", binding.help);
                for key in binding.keys {
                    assert!(seen.insert(*key), "{binding:?}: {key}");
                }
            }
        }
    }

    #[test]
    fn keys_are_looked_up_in_the_lists_in_order_and_then_globally() {
        let lists: [(&[&'static KeyList], KeyPress, Option<KeyCommand>); 9] = [
            (&[&LIVE], KeyPress::char('q'), Some(KeyCommand::Quit)),
            (&[&LIVE], KeyPress::char('j'), Some(KeyCommand::Down)),
            (&[&FILTER], KeyPress::char('q'), None),
            (&[&FILTER], KeyPress::control('c'), Some(KeyCommand::Quit)),
            (
                &[&REPLAY, &LIVE],
                KeyPress::char('.'),
                Some(KeyCommand::NextFrame),
            ),
            (
                &[&REPLAY, &LIVE],
                KeyPress::char('s'),
                Some(KeyCommand::Next),
            ),
            (
                &[&REPLAY, &REQUESTS],
                KeyPress::char('/'),
                Some(KeyCommand::EditFilter),
            ),
            (&[&HELP], KeyPress::char('q'), Some(KeyCommand::Cancel)),
            (&[&QUESTION], KeyPress::char('1'), None),
        ];
        for (lists, key, expected) in lists {
            assert_eq!(
                find_command(lists, key),
                expected,
                "{key} in {}",
                lists[0].title
            );
        }
    }
}
